import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
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
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'
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

/** A data folder that is not there yet, below a folder that everybody may enter. */
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
    console.log(JSON.stringify({ refusal: error.message }))
  }
`

interface ServiceWord {
  connectionString: string
  adopted: boolean
  processId: number
  refusal?: string
}

/** A service of its own, in its own process, that can be killed. Root may start it as another. */
async function startService(dataFolder: string, account?: { uid: number; gid: number }) {
  const as = account ? [String(account.uid), String(account.gid)] : []
  const service = spawn(
    process.execPath,
    ['--input-type=module', '-e', SERVICE, '--', dataFolder, ...as],
    { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' },
  )
  services.push(service)
  const [line] = await once(service.stdout, 'data')
  return { service, word: JSON.parse(String(line)) as ServiceWord }
}

async function killHard(service: ChildProcess): Promise<void> {
  service.kill('SIGKILL')
  await once(service, 'exit')
}

describe('a service and the server it leaves behind', { concurrency: 4 }, () => {
  it('adopts the server that a killed service left, without a gap', async () => {
    const dataFolder = newDataFolder()
    const { service, word } = await startService(dataFolder)
    await query(word.connectionString, 'create table kept as select 42 as answer')
    await killHard(service)

    const server = await start(dataFolder)
    assert.equal(server.isAdopted, true)
    assert.equal(server.processId, word.processId)
    assert.equal(server.connectionString, word.connectionString)
    assert.deepEqual(await query(server.connectionString, 'select answer from kept'), [42])
    await server.stop()
    assert.equal(findPostmaster(join(dataFolder, 'postgres')), null)
  })

  it('ends a left-over server that listens on another port than the one asked for', async () => {
    const dataFolder = newDataFolder()
    const { service } = await startService(dataFolder)
    await killHard(service)
    const port = await findFreePort()
    const server = await startEmbeddedPostgres({ dataDirectory: dataFolder, port })
    assert.equal(server.isAdopted, false)
    assert.equal(Number(new URL(server.connectionString).port), port)
    await server.stop()
  })

  it('keeps what was committed when service and server are killed at the same moment', async () => {
    const dataFolder = newDataFolder()
    const { service, word } = await startService(dataFolder)
    await query(word.connectionString, 'create table kept as select 42 as answer')
    process.kill(word.processId, 'SIGKILL')
    await killHard(service)
    assert.ok(existsSync(join(dataFolder, 'postgres', 'postmaster.pid')))

    const server = await start(dataFolder)
    assert.deepEqual(await query(server.connectionString, 'select answer from kept'), [42])
    await server.stop()
  })

  it('refuses a folder that another living service uses, without disturbing that one', async () => {
    const dataFolder = newDataFolder()
    const { service, word } = await startService(dataFolder)
    await assert.rejects(start(dataFolder), {
      name: 'EmbeddedPostgresError',
      message:
        `Another Signalbox (process ${service.pid}) is already using ${dataFolder}: ` +
        'stop that one, or give this one a SIGNALBOX_DATA_DIR of its own.',
    })
    assert.deepEqual(await query(word.connectionString, 'select 1'), [1])
  })

  it('of two services that start at once on an empty folder exactly one wins', async () => {
    const dataFolder = newDataFolder()
    const words = (await Promise.all([startService(dataFolder), startService(dataFolder)])).map(
      ({ word }) => word,
    )
    const [winner] = words.filter(({ refusal }) => refusal === undefined)
    const [loser] = words.filter(({ refusal }) => refusal !== undefined)
    assert.match(loser?.refusal ?? '', /^Another Signalbox/)
    assert.deepEqual(await query(winner?.connectionString ?? '', 'select 1'), [1])
  })

  it('ends the server and leaves no trace of use when the service gets SIGTERM', async () => {
    const dataFolder = newDataFolder()
    const { service } = await startService(dataFolder)
    service.kill('SIGTERM')
    await once(service, 'exit')
    assert.equal(service.exitCode, 0)
    assert.equal(existsSync(join(dataFolder, 'owner.json')), false)
    assert.equal(existsSync(join(dataFolder, 'postgres', 'postmaster.pid')), false)
    assert.match(readFileSync(join(dataFolder, 'postgres.log'), 'utf8'), /system is shut down\n$/)
  })

  it('says so when the server dies, its own or an adopted one, and starts anew', async () => {
    const dataFolder = newDataFolder()
    const own = await start(dataFolder)
    process.kill(own.processId, 'SIGKILL')
    assert.equal(
      await own.exited,
      `The embedded PostgreSQL (process ${own.processId}) ended by the signal SIGKILL.`,
    )
    await own.stop()

    const { service } = await startService(dataFolder)
    await killHard(service)
    const adopted = await start(dataFolder)
    assert.equal(adopted.isAdopted, true)
    process.kill(adopted.processId, 'SIGKILL')
    const gone = `The embedded PostgreSQL (process ${adopted.processId}) is gone.`
    assert.equal(await adopted.exited, gone)
    await adopted.stop()
  })

  it('starts for an ordinary account, whose files stay its own when root starts it', async t => {
    const account = asRoot ? listMachineAccounts().find(({ name }) => name === 'nobody') : undefined
    const dataFolder = newDataFolder()
    if (account) chownSync(dirname(dataFolder), account.uid, account.gid)
    const { service, word } = await startService(dataFolder, account)
    if (word.refusal) {
      t.diagnostic('this account cannot reach the repository')
      assert.match(word.refusal, /is not installed|does not run here/)
      return
    }
    assert.deepEqual(await query(word.connectionString, 'select 1'), [1])
    service.kill('SIGTERM')
    await once(service, 'exit')

    const server = await start(dataFolder)
    const owners = filesBelow(dataFolder).map(path => statSync(path).uid)
    assert.deepEqual([...new Set(owners)], [account?.uid ?? process.geteuid?.()])
    await server.stop()
  })
})
