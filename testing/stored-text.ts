import type { Database } from '../service/db/database.ts'

/** Every row of every table of the store as text; bytes are in it as hexadecimal. */
export async function storedText({ pool }: Database): Promise<string> {
  const { rows: tables } = await pool.query(
    `select quote_ident(relname) as name from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query(`select $1 || t::text as row from ${name} t`, [`${name} `])
    texts.push(...rows.map(({ row }) => row))
  }
  return texts.join('\n')
}

/** The lines of a text that hold what stands for a person's e-mail address, in any writing. */
export function tracesOf(email: string, digest: string, text: string): string[] {
  const bytes = Buffer.from(digest, 'hex')
  const marks = [
    ...[digest, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')],
    ...[Buffer.from(digest).toString('hex'), Buffer.from(digest).toString('base64').slice(0, 80)],
    ...[email, encodeURIComponent(email), Buffer.from(email).toString('hex')],
    Buffer.from(email).toString('base64').replace(/=+$/, '').slice(0, -1),
  ].map(mark => mark.toLowerCase())
  return text.split('\n').filter(line => {
    const lower = line.toLowerCase()
    return marks.some(mark => lower.includes(mark))
  })
}
