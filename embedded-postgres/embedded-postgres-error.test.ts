import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it, type TestContext } from 'node:test'
import { refuseForeignCluster } from './cluster-owner.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'
import {
  diagnoseServerFailure,
  findLastFatalLine,
  toFolderError,
} from './embedded-postgres-error.ts'
import { listMachineAccounts } from './unprivileged-account.ts'

const asRoot = process.geteuid?.() === 0
const folders: string[] = []
const servers: EmbeddedPostgres[] = []

after(async () => {
  for (const server of servers) await server.stop()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  chmodSync(folder, 0o755)
  folders.push(folder)
  return folder
}

async function start(dataDirectory: string, port = 0): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDirectory, port })
  servers.push(server)
  return server
}

async function assertRefused(starting: Promise<unknown>, message: string): Promise<void> {
  await assert.rejects(starting, { name: 'EmbeddedPostgresError', message })
}

/** Runs `work` without privileges: as nobody when this process is root. */
async function withoutRights(work: () => unknown): Promise<void> {
  const nobody = listMachineAccounts().find(({ name }) => name === 'nobody')
  if (asRoot) process.seteuid?.(nobody?.uid ?? 65_534)
  try {
    await work()
  } finally {
    if (asRoot) process.seteuid?.(0)
  }
}

/** Mounts a file system in memory. Only root may, and not on every machine. */
function mountMemory(t: TestContext, options: string): string | null {
  const folder = newFolder()
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `mode=755,${options}`, 'tmpfs', folder])
  if (mount.status !== 0) {
    t.diagnostic('mount is not permitted here; only the sentence was checked')
    return null
  }
  t.after(() => spawnSync('umount', ['--lazy', folder]))
  return folder
}

const full = (path: string) =>
  `The disk that holds ${path} is full: free at least 200 MB, ` +
  'or set SIGNALBOX_DATA_DIR to a folder on another disk.'

it('refuses a data folder below a file', async () => {
  const file = join(newFolder(), 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'data')]) {
    await assertRefused(
      start(path),
      `${path} cannot be a folder because part of it is a file: ` +
        'set SIGNALBOX_DATA_DIR to another path.',
    )
  }
})

it('names the fixes when the account may not write the data folder', async () => {
  const folder = newFolder()
  chmodSync(folder, 0o555)
  for (const path of [folder, join(folder, 'data')]) {
    await withoutRights(() =>
      assertRefused(
        start(path),
        `Signalbox may not read and write ${path}: start it under the account that owns the ` +
          'folder, or set SIGNALBOX_DATA_DIR to a folder that it may write.',
      ),
    )
  }
})

it('reports a read-only file system', async t => {
  const sentence = (path: string) =>
    `${path} is on a read-only file system: set SIGNALBOX_DATA_DIR to a writable folder.`
  const folder = mountMemory(t, 'size=1m,ro')
  if (folder) await assertRefused(start(folder), sentence(folder))
  const error = toFolderError({ code: 'EROFS', syscall: 'open' }, '/x') as Error
  assert.equal(error.message, sentence('/x'))
})

it('names the owner of a database of another account', async () => {
  await withoutRights(() =>
    assert.throws(() => refuseForeignCluster('/etc'), {
      message:
        'The database in /etc belongs to root: start Signalbox as root, ' +
        'or set SIGNALBOX_DATA_DIR to another folder.',
    }),
  )
})

it('names a port in use, and unlocks the folder for the next start', async () => {
  const dataDirectory = join(newFolder(), 'data')
  const listener = createServer().listen({ host: '127.0.0.1', port: 0 })
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  await assertRefused(
    start(dataDirectory, port),
    `Port ${port} of 127.0.0.1 is taken by another program: ` +
      'free it, or set SIGNALBOX_DATABASE_PORT to another one (0 takes any free port).',
  )
  listener.close()
  await once(listener, 'close')
  const server = await start(dataDirectory, port)
  assert.equal(new URL(server.connectionString).port, String(port))
})

it('refuses a disk that is too small before it writes anything', async t => {
  const folder = mountMemory(t, 'size=16m')
  if (folder) {
    const { bfree } = statfsSync(folder)
    await assertRefused(start(folder), full(folder))
    assert.equal(statfsSync(folder).bfree, bfree)
  }
  const error = toFolderError({ code: 'ENOSPC', syscall: 'write' }, '/x') as Error
  assert.equal(error.message, full('/x'))
})

it('reports a disk that has filled up, and starts once there is space again', async t => {
  const folder = mountMemory(t, 'size=256m')
  if (folder) {
    const first = await start(folder)
    await first.stop()
    fillDisk(join(folder, 'filler'))
    await assertRefused(start(folder), full(folder))
    // One block for our file and none for the server's, so that the server fails.
    rmSync(join(folder, 'filler'))
    fillDisk(join(folder, 'filler'), 1)
    await assertRefused(start(folder), full(join(folder, 'postgres')))
    rmSync(join(folder, 'filler'))
    const second = await start(folder)
    await second.stop()
  }
  const output = 'FATAL:  could not write lock file "postmaster.pid": No space left on device'
  assert.equal(diagnosisOf(output), full('/x/postgres'))
})

function fillDisk(path: string, blocksLeft = 0): void {
  const { bavail, bsize } = statfsSync(join(path, '..'))
  writeFileSync(path, Buffer.alloc((bavail - blocksLeft) * bsize))
}

it('leaves a database of another major version alone, and explains how to move it', async () => {
  const dataDirectory = newFolder()
  const cluster = join(dataDirectory, 'postgres')
  mkdirSync(cluster)
  writeFileSync(join(cluster, 'PG_VERSION'), '17\n')
  await assertRefused(
    start(dataDirectory),
    `The database in ${cluster} was created by PostgreSQL 17 and this Signalbox includes ` +
      'PostgreSQL 18: move it with pg_dump and psql, or set DATABASE_URL to a PostgreSQL 17 ' +
      'that serves it.',
  )
})

it('leaves a foreign folder in the place of the database alone', async () => {
  const dataDirectory = newFolder()
  const cluster = join(dataDirectory, 'postgres')
  mkdirSync(join(cluster, 'photos'), { recursive: true })
  await assertRefused(
    start(dataDirectory),
    `${cluster} exists but contains no database: move it away, or set SIGNALBOX_DATA_DIR to ` +
      'another folder.',
  )
})

it('names a missing or wrong password file, and stops the server', async () => {
  const dataDirectory = newFolder()
  const passwordFile = join(dataDirectory, 'postgres.password')
  const server = await start(dataDirectory)
  await server.stop()
  writeFileSync(passwordFile, 'wrong\n')
  await assert.rejects(start(dataDirectory), /does not match the database beside it/)
  rmSync(passwordFile)
  await assertRefused(
    start(dataDirectory),
    `The database password in ${passwordFile} is missing: restore that file from a backup, or ` +
      `move ${join(dataDirectory, 'postgres')} away to start with an empty database.`,
  )
})

function diagnosisOf(output: string): string {
  const location = { folder: '/x', cluster: '/x/postgres', port: 5432 }
  return diagnoseServerFailure(output, location).error.message
}

it('describes every other failure in one sentence with a fix', () => {
  const outputs = [
    'LOG:  could not bind IPv4 address "127.0.0.1": Permission denied',
    'FATAL:  could not map anonymous shared memory: Cannot allocate memory',
    'initdb: error: could not look up effective user ID 4711: user does not exist',
    'FATAL:  could not open file "global/pg_control": Permission denied',
    'FATAL:  an unknown failure',
    '',
  ]
  for (const output of outputs) {
    assert.match(diagnosisOf(output), /^[A-Z][^\n]*: [^\n]*(set|start) [^\n]*\.$/)
  }
  assert.match(diagnosisOf(outputs[4] ?? ''), /\(FATAL: an unknown failure\)/)
})

it('marks only transient failures for a retry', () => {
  const location = { folder: '/x', cluster: '/x/postgres', port: 0 }
  const causeOf = (output: string) => diagnoseServerFailure(output, location).transientCause
  assert.equal(causeOf('FATAL:  lock file "postmaster.pid" already exists'), 'occupied')
  assert.equal(causeOf('FATAL:  pre-existing shared memory block is still in use'), 'occupied')
  assert.equal(causeOf('could not bind IPv4 address: Address already in use'), 'port')
  assert.equal(causeOf('FATAL:  No space left on device'), null)
})

it('ignores errors of clients in the log', () => {
  const log = [
    '2026-11-21 04:41:24.420 UTC [1] PANIC:  could not write to file: No space left on device',
    '2026-11-21 04:41:24.421 UTC [2] FATAL:  password authentication failed for user "x"',
    '2026-11-21 04:41:24.422 UTC [1] LOG:  database system is shut down',
  ].join('\n')
  assert.equal(findLastFatalLine(log), 'PANIC: could not write to file: No space left on device')
  assert.equal(findLastFatalLine('LOG:  ready'), null)
})

it('returns an unknown error as it is', () => {
  const bug = new TypeError('x is not a function')
  assert.equal(toFolderError(bug, '/x'), bug)
})
