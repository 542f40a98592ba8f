import { hash } from 'node:crypto'
import type { Database } from '../service/db/database.ts'

/** A dump as lines, each with its table in front. */
export type Dump = readonly string[]

/**
 * Every row of every table of every schema as text, the catalogue's included: what ANALYZE has seen
 * of a column stands in pg_statistic. Bytes are in it as hexadecimal.
 */
export async function dumpDatabase({ pool }: Database): Promise<Dump> {
  const { rows: tables } = await pool.query(
    `select format('%I.%I', nspname, relname) as name
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind in ('r', 'm') order by 1`,
  )
  const lines: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query(`select $1 || t::text as row from ${name} t`, [`${name} `])
    for (const { row } of rows) lines.push(...row.split('\n'))
  }
  return lines
}

/** All writings of one value that a search for it must know. */
export function writingsOf(value: string): string[] {
  const digest = hash('sha256', value.toLowerCase())
  const bytes = Buffer.from(digest, 'hex')
  const found = [
    ...[value, encodeURIComponent(value), encodeURIComponent(value).replaceAll('.', '%2E')],
    ...[Buffer.from(value).toString('hex'), ...base64Of(Buffer.from(value))],
    // The first half is enough to know a digest by; it is searched in place of the whole.
    ...[digest.slice(0, 16), Buffer.from(digest).toString('hex').slice(0, 32)],
    ...[...base64Of(bytes), ...base64Of(Buffer.from(digest))],
  ]
  return [...new Set(found.map(text => text.toLowerCase()))]
}

/** Lines that hold one of these values in any writing and any case. */
export function tracesIn(lines: Dump, values: readonly string[]): string[] {
  const marks = values.flatMap(writingsOf)
  return lines.filter(line => {
    const lower = line.toLowerCase()
    return marks.some(mark => lower.includes(mark))
  })
}

/** Base64 and base64url of bytes that stand anywhere in something longer. */
function base64Of(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url')
    const inner = text.replace(/=+$/, '').slice(before === 0 ? 0 : before + 1, -1)
    return [inner, inner.replaceAll('-', '+').replaceAll('_', '/')]
  })
}
