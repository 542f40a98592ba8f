// Full run only: starts and kills a server for each test.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import pg from 'pg'
import {
  type EmbeddedPostgres,
  findRunningEmbeddedPostgres,
  startEmbeddedPostgres,
} from './embedded-postgres.ts'
import { findFreePort } from './free-port.ts'
import { findPostmaster, stopServer } from './postmaster.ts'
import { listMachineAccounts } from './unprivileged-account.ts'

const asRoot = process.geteuid?.() === 0
const folders: string[] = []
const services: ChildProcess[] = []

after(async () => {
  for (const service of services) service.kill('SIGKILL')
  for (const folder of folders) {
    const left = findPostmaster(join(folder, 'data', 'postgres'))
    if (left) await stopServer(left)
    rmSync(folder, { recursive: true, force: true })
  }
})

/** A data folder that does not exist yet, below a folder that every account may enter. */
function newDataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  chmodSync(folder, 0o755)
  folders.push(folder)
  return join(folder, 'data')
}

function start(dataDirectory: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDirectory, port: 0 })
}

async function query(connectionString: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query({ text: statement, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
}

const MODULE = JSON.stringify(import.meta.resolve('./embedded-postgres.ts'))

const SERVICE = `
  import { startEmbeddedPostgres } from ${MODULE}
  const [dataDirectory, uid, gid] = process.argv.slice(1)
  if (uid) {
    process.setgroups([])
    process.setgid(Number(gid))
    process.setuid(Number(uid))
  }
  try {
    const server = await startEmbeddedPostgres({ dataDirectory, port: 0 })
    process.once('SIGTERM', () => server.stop().then(() => process.exit(0)))
    setInterval(() => {}, 1000)
    console.log(JSON.stringify(server))
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }))
  }
`

interface ServiceOutput {
  connectionString: string
  processId: number
  error?: string
}

/** A service in its own process, which can be killed. Root may start it as another account. */
async function startService(dataFolder: string, account?: { uid: number; gid: number }) {
  const as = account ? [String(account.uid), String(account.gid)] : []
  const service = spawn(
    process.execPath,
    ['--input-type=module', '-e', SERVICE, '--', dataFolder, ...as],
    { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' },
  )
  services.push(service)
  const [line] = await once(service.stdout, 'data')
  return { service, output: JSON.parse(String(line)) as ServiceOutput }
}

async function killHard(service: ChildProcess): Promise<void> {
  service.kill('SIGKILL')
  await once(service, 'exit')
}

describe('the server of a killed service', { concurrency: 4 }, () => {
  it('is adopted by the next start', async () => {
    const dataFolder = newDataFolder()
    const { service, output } = await startService(dataFolder)
    await query(output.connectionString, 'create table stored as select 42 as answer')
    await killHard(service)

    const server = await start(dataFolder)
    assert.equal(server.isAdopted, true)
    assert.equal(server.processId, output.processId)
    assert.equal(server.connectionString, output.connectionString)
    assert.deepEqual(await query(server.connectionString, 'select answer from stored'), [42])
    await server.stop()
    assert.equal(findPostmaster(join(dataFolder, 'postgres')), null)
  })

  it('is stopped when it listens on another port than the given one', async () => {
    const dataFolder = newDataFolder()
    const { service } = await startService(dataFolder)
    await killHard(service)
    const port = await findFreePort()
    const server = await startEmbeddedPostgres({ dataDirectory: dataFolder, port })
    assert.equal(server.isAdopted, false)
    assert.equal(Number(new URL(server.connectionString).port), port)
    await server.stop()
  })

  it('keeps commits when it is killed together with the service', async () => {
    const dataFolder = newDataFolder()
    const { service, output } = await startService(dataFolder)
    await query(output.connectionString, 'create table stored as select 42 as answer')
    process.kill(output.processId, 'SIGKILL')
    await killHard(service)
    assert.ok(existsSync(join(dataFolder, 'postgres', 'postmaster.pid')))

    const server = await start(dataFolder)
    assert.deepEqual(await query(server.connectionString, 'select answer from stored'), [42])
    await server.stop()
  })

  it('stays with a running service: a second start on the folder is refused', async () => {
    const dataFolder = newDataFolder()
    const { service, output } = await startService(dataFolder)
    await assert.rejects(start(dataFolder), {
      name: 'EmbeddedPostgresError',
      message:
        `Another Signalbox (process ${service.pid}) is already using ${dataFolder}: ` +
        'stop that one, or give this one a SIGNALBOX_DATA_DIR of its own.',
    })
    assert.deepEqual(await query(output.connectionString, 'select 1'), [1])
  })

  it('is not adopted by a start on a hot copy of its folder', async () => {
    const dataFolder = newDataFolder()
    const copy = newDataFolder()
    const { service, output } = await startService(dataFolder)
    cpSync(dataFolder, copy, { recursive: true })
    const refusal = (user: string) =>
      new RegExp(`copy of ${dataFolder}\\S*, which ${user} is using`)
    await assert.rejects(start(copy), refusal(`another Signalbox \\(process ${service.pid}\\)`))
    await killHard(service)
    await assert.rejects(start(copy), refusal(`PostgreSQL \\(process ${output.processId}\\)`))
    await assert.rejects(findRunningEmbeddedPostgres(copy), /is a copy of/)
    assert.deepEqual(await query(output.connectionString, 'select 1'), [1])
  })

  it('starts once when two services start on an empty folder at the same time', async () => {
    const dataFolder = newDataFolder()
    const outputs = (await Promise.all([startService(dataFolder), startService(dataFolder)])).map(
      ({ output }) => output,
    )
    const [winner] = outputs.filter(({ error }) => error === undefined)
    const [loser] = outputs.filter(({ error }) => error !== undefined)
    assert.match(loser?.error ?? '', /^Another Signalbox/)
    assert.deepEqual(await query(winner?.connectionString ?? '', 'select 1'), [1])
  })

  it('stops and unlocks the folder when the service gets SIGTERM', async () => {
    const dataFolder = newDataFolder()
    const { service } = await startService(dataFolder)
    service.kill('SIGTERM')
    await once(service, 'exit')
    assert.equal(service.exitCode, 0)
    assert.equal(existsSync(join(dataFolder, 'owner.json')), false)
    assert.equal(existsSync(join(dataFolder, 'postgres', 'postmaster.pid')), false)
    assert.match(readFileSync(join(dataFolder, 'postgres.log'), 'utf8'), /system is shut down\n$/)
  })

  it('reports the exit of a child and of an adopted server, and can be started again', async () => {
    const dataFolder = newDataFolder()
    const own = await start(dataFolder)
    process.kill(own.processId, 'SIGKILL')
    assert.equal(
      await own.exited,
      `The embedded PostgreSQL (process ${own.processId}) was ended by signal SIGKILL.`,
    )
    await own.stop()

    const { service } = await startService(dataFolder)
    await killHard(service)
    const adopted = await start(dataFolder)
    assert.equal(adopted.isAdopted, true)
    process.kill(adopted.processId, 'SIGKILL')
    const sentence = `The embedded PostgreSQL (process ${adopted.processId}) exited.`
    assert.equal(await adopted.exited, sentence)
    await adopted.stop()
  })

  it('keeps the files of an ordinary account when root starts it', async t => {
    const account = asRoot ? listMachineAccounts().find(({ name }) => name === 'nobody') : undefined
    const dataFolder = newDataFolder()
    if (account) chownSync(dirname(dataFolder), account.uid, account.gid)
    const { service, output } = await startService(dataFolder, account)
    if (output.error) {
      t.diagnostic('this account cannot reach the repository')
      assert.match(output.error, /is not installed|does not run here/)
      return
    }
    assert.deepEqual(await query(output.connectionString, 'select 1'), [1])
    service.kill('SIGTERM')
    await once(service, 'exit')

    const server = await start(dataFolder)
    const owners = filesBelow(dataFolder).map(path => statSync(path).uid)
    assert.deepEqual([...new Set(owners)], [account?.uid ?? process.geteuid?.()])
    await server.stop()
  })
})
