import assert from 'node:assert/strict'
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { openServerLog, readLastFatalLine, readLogSince } from './server-log.ts'

const folders: string[] = []

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  folders.push(folder)
  return folder
}

it('appends to one private log', () => {
  const folder = newFolder()
  const first = openServerLog(folder)
  appendFileSync(first.file, 'before\n')
  const second = openServerLog(folder)
  appendFileSync(second.file, 'after\n')
  assert.equal(readFileSync(first.path, 'utf8'), 'before\nafter\n')
  assert.equal(readLogSince(second.path, second.startsAt), 'after\n')
  assert.equal(statSync(first.path).mode & 0o777, 0o600)
  for (const { file } of [first, second]) closeSync(file)
})

it('rotates a log of more than 10 MB, and keeps one older log', () => {
  const folder = newFolder()
  const path = join(folder, 'postgres.log')
  writeFileSync(path, 'old')
  truncateSync(path, 10 * 1024 * 1024 + 1)
  const log = openServerLog(folder)
  closeSync(log.file)
  assert.equal(log.startsAt, 0)
  assert.equal(statSync(`${path}.1`).size, 10 * 1024 * 1024 + 1)
})

it('refuses to write through a link', () => {
  const folder = newFolder()
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'postgres.log'))
  assert.throws(() => openServerLog(folder), { code: 'ELOOP' })
  assert.equal(existsSync(join(folder, 'elsewhere')), false)
})

it('reads at most the last 64 KB', () => {
  const folder = newFolder()
  const path = join(folder, 'postgres.log')
  writeFileSync(path, `${'x'.repeat(100_000)}end`)
  const read = readLogSince(path, 0)
  assert.equal(read.length, 64 * 1024)
  assert.ok(read.endsWith('end'))
})

it('returns the last error of the last server only', () => {
  const folder = newFolder()
  assert.equal(readLastFatalLine(folder), null)
  const path = join(folder, 'postgres.log')
  const start = '2026 UTC [1] LOG:  starting PostgreSQL 18.4\n'
  const panic = '2026 UTC [1] PANIC:  could not locate a valid checkpoint record\n'
  writeFileSync(path, `${start}${panic}`)
  assert.equal(readLastFatalLine(folder), 'PANIC: could not locate a valid checkpoint record')
  appendFileSync(path, start)
  assert.equal(readLastFatalLine(folder), null)
})
