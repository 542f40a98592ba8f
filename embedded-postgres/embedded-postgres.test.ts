import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import pg from 'pg'
import {
  type EmbeddedPostgres,
  findRunningEmbeddedPostgres,
  startEmbeddedPostgres,
} from './embedded-postgres.ts'

const asRoot = process.geteuid?.() === 0
const folders: string[] = []

/** A data folder that does not exist yet, below a public or a private folder. */
function newDataFolder(mode: 0o755 | 0o700): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  chmodSync(folder, mode)
  folders.push(folder)
  return join(folder, 'data')
}

let dataDirectory: string
let server: EmbeddedPostgres

before(async () => {
  dataDirectory = newDataFolder(0o755)
  server = await startEmbeddedPostgres({ dataDirectory, port: 0 })
})

after(async () => {
  await server.stop()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function query(statement: string, address = server.connectionString): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  try {
    return (await client.query({ text: statement, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

it('runs PostgreSQL 18 on 127.0.0.1 only and flushes each commit to the disk', async () => {
  const setting = async (name: string) => (await query(`show ${name}`))[0]
  assert.match(String(await setting('server_version')), /^18\./)
  assert.equal(await setting('listen_addresses'), '127.0.0.1')
  assert.equal(await setting('unix_socket_directories'), '')
  assert.equal(await setting('fsync'), 'on')
  assert.equal(await setting('synchronous_commit'), 'on')
  assert.equal(await setting('max_wal_size'), '4GB')
})

it('has more buffers at the start after the data grew', async () => {
  const folder = newDataFolder(0o755)
  const readBuffers = async () => {
    const started = await startEmbeddedPostgres({ dataDirectory: folder, port: 0 })
    try {
      return await query('show shared_buffers', started.connectionString)
    } finally {
      await started.stop()
    }
  }
  assert.deepEqual(await readBuffers(), ['128MB'])
  // Without content, so that it takes no place on the disk.
  const path = join(folder, 'postgres/base/grown')
  closeSync(openSync(path, 'w', 0o600))
  truncateSync(path, 2 ** 31)
  const [grown] = await readBuffers()
  assert.match(String(grown), /^2[56]\dMB$/)
})

it('refuses connections without the password', async () => {
  const url = new URL(server.connectionString)
  assert.match(url.password, /^[\w-]{43}$/)
  url.password = 'another'
  await assert.rejects(query('select 1', url.href), { code: '28P01' })
})

it('makes every file private and keeps the password in one of them only', () => {
  const entries = readdirSync(dataDirectory, { recursive: true, withFileTypes: true })
  const files = entries
    .filter(entry => entry.isFile())
    .map(file => join(file.parentPath, file.name))
  assert.deepEqual(
    files.filter(path => (statSync(path).mode & 0o077) !== 0),
    [],
  )
  const { password } = new URL(server.connectionString)
  assert.deepEqual(
    files.filter(path => readFileSync(path).includes(password)),
    [join(dataDirectory, 'postgres.password')],
  )
})

it('never logs values of a row', async () => {
  await query('create table secrets (word text primary key)')
  const insert = () => query("insert into secrets values ('sesame')")
  await insert()
  await assert.rejects(insert, { code: '23505' })
  const log = readFileSync(join(dataDirectory, 'postgres.log'), 'utf8')
  assert.match(log, /duplicate key value/)
  assert.doesNotMatch(log, /sesame/)
})

it('sorts text by code point and supports UTF-8 in any locale', async () => {
  const words = "(values ('b'), ('B'), ('é'), ('a')) words (word)"
  assert.deepEqual(await query(`select word from ${words} order by word`), ['B', 'a', 'b', 'é'])
  assert.deepEqual(await query("select upper('é')"), ['É'])
})

it('is found by other roles only while it runs', async () => {
  const other = newDataFolder(0o755)
  assert.equal(await findRunningEmbeddedPostgres(other), null)
  const running = await startEmbeddedPostgres({ dataDirectory: other, port: 0 })
  assert.equal(await findRunningEmbeddedPostgres(other), running.connectionString)
  await running.stop()
  assert.equal(await findRunningEmbeddedPostgres(other), null)
})

it('keeps rows and password in a private home, or names the fixes', async t => {
  const options = { dataDirectory: newDataFolder(0o700), port: 0 }
  if (asRoot && spawnSync('unshare', ['--user', '--map-user=1', 'true']).status !== 0) {
    t.diagnostic('user namespaces are off on this machine')
    await assert.rejects(startEmbeddedPostgres(options), {
      name: 'EmbeddedPostgresError',
      message: /^PostgreSQL does not run as root, and .* DATABASE_URL to .*\.$/,
    })
    return
  }
  const first = await startEmbeddedPostgres(options)
  await query('create table stored as select 42 as answer', first.connectionString)
  await first.stop()
  await first.stop()
  assert.equal(existsSync(join(options.dataDirectory, 'owner.json')), false)

  const second = await startEmbeddedPostgres(options)
  assert.equal(second.isAdopted, false)
  assert.deepEqual(await query('select answer from stored', second.connectionString), [42])
  const passwords = [first, second].map(
    ({ connectionString }) => new URL(connectionString).password,
  )
  assert.equal(passwords[0], passwords[1])
  await second.stop()
})
