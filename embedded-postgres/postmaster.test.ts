import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { findPostmaster, neutralizeStaleLockFile } from './postmaster.ts'

const folders: string[] = []
const started: ChildProcess[] = []

after(() => {
  for (const child of started) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newCluster(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  folders.push(folder)
  return folder
}

/** The eight lines that PostgreSQL 18 writes. */
function writeLock(cluster: string, processId: number, status = 'ready   '): void {
  const lines = [
    processId,
    cluster,
    1_790_000_000,
    5432,
    '',
    '127.0.0.1',
    ' 9989085  32813',
    status,
  ]
  writeFileSync(lockOf(cluster), `${lines.join('\n')}\n`)
}

function lockOf(cluster: string): string {
  return join(cluster, 'postmaster.pid')
}

/** A sleeping process with these arguments. */
async function processNamed(name: string, ...options: string[]): Promise<number> {
  const script = 'process.stdout.write("."); setInterval(() => {}, 1000)'
  const child = spawn(process.execPath, ['-e', script, '--', ...options], {
    argv0: name,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  started.push(child)
  await once(child.stdout, 'data')
  return child.pid ?? 0
}

async function deadProcess(): Promise<number> {
  const child = spawn('true')
  await once(child, 'exit')
  return child.pid ?? 0
}

it('finds a postgres that was started on this folder, with its port and status', async () => {
  const cluster = newCluster()
  const processId = await processNamed('/opt/bin/postgres', '-D', cluster, '-c', 'port=5432')
  for (const status of ['starting', 'ready', 'stopping'] as const) {
    writeLock(cluster, processId, status.padEnd(8))
    const found = findPostmaster(cluster)
    assert.equal(found?.processId, processId)
    assert.equal(found?.port, 5432)
    assert.equal(found?.status, status)
  }
})

it('refuses a copy of a cluster in use instead of taking its server', async () => {
  const cluster = newCluster()
  const processId = await processNamed('/opt/bin/postgres', '-D', cluster, '-c', 'port=5432')
  writeLock(cluster, processId)
  const copy = join(newCluster(), 'copy')
  cpSync(cluster, copy, { recursive: true })
  assert.throws(
    () => findPostmaster(copy),
    ({ name, message }: Error) =>
      name === 'EmbeddedPostgresError' &&
      message.startsWith(
        `${copy} is a copy of ${cluster}, which PostgreSQL (process ${processId}) is using, `,
      ),
  )
})

it('ignores another program and the postgres of another folder', async () => {
  const cluster = newCluster()
  const others = [
    await processNamed('/usr/bin/vim', '-D', cluster),
    await processNamed('/opt/bin/postgres', '-D', `${cluster}-other`),
    await deadProcess(),
  ]
  for (const processId of others) {
    writeLock(cluster, processId)
    assert.equal(findPostmaster(cluster), null)
  }
  rmSync(lockOf(cluster))
  assert.equal(findPostmaster(cluster), null)
})

it('finds the server of a folder that was moved while it ran', async () => {
  const before = newCluster()
  const now = `${before}-moved`
  folders.push(now)
  const processId = await processNamed('postgres', '-D', before, '-c', 'port=5432')
  writeLock(before, processId)
  renameSync(before, now)
  assert.equal(findPostmaster(now)?.processId, processId)
})

it('neutralizes a lock file whose process ID was reused, and keeps the rest', async () => {
  const cluster = newCluster()
  writeLock(cluster, await processNamed('/usr/bin/vim'))
  const before = statSync(lockOf(cluster)).ino
  await neutralizeStaleLockFile(cluster)
  const [processId, , , , , , keys] = readFileSync(lockOf(cluster), 'utf8').split('\n')
  assert.equal(Number(processId), process.pid)
  assert.equal(keys, ' 9989085  32813')
  assert.equal(statSync(lockOf(cluster)).ino, before)
})

it('leaves a lock file of a running server or an unused process ID alone', async () => {
  const cluster = newCluster()
  const running = await processNamed('postgres', '-D', cluster, '-c', 'port=5432')
  for (const processId of [running, await deadProcess()]) {
    writeLock(cluster, processId)
    const before = readFileSync(lockOf(cluster), 'utf8')
    await neutralizeStaleLockFile(cluster)
    assert.equal(readFileSync(lockOf(cluster), 'utf8'), before)
  }
})

it('removes a lock file that a power loss left empty', async () => {
  const cluster = newCluster()
  writeFileSync(lockOf(cluster), '')
  await neutralizeStaleLockFile(cluster)
  assert.equal(existsSync(lockOf(cluster)), false)
})
