import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { lockDataFolder } from './data-folder.ts'
import { readProcessIdentity } from './process-identity.ts'

const folders: string[] = []

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  folders.push(folder)
  return folder
}

it('locks the folder for one process until it is released', async () => {
  const folder = newFolder()
  const release = await lockDataFolder(folder)
  await assert.rejects(lockDataFolder(folder), /^EmbeddedPostgresError: Another Signalbox/)
  release()
  assert.equal(existsSync(join(folder, 'owner.json')), false)
  const releaseAgain = await lockDataFolder(folder)
  releaseAgain()
})

it('lets exactly one of many concurrent calls lock the folder', async () => {
  const folder = newFolder()
  const locks = await Promise.allSettled(Array.from({ length: 20 }, () => lockDataFolder(folder)))
  assert.equal(locks.filter(({ status }) => status === 'fulfilled').length, 1)
})

it('names the process ID of the running owner', async () => {
  const folder = newFolder()
  const owner = spawn('sleep', ['60'])
  await once(owner, 'spawn')
  const pid = owner.pid ?? 0
  writeFileSync(
    join(folder, 'owner.json'),
    JSON.stringify({ pid, identity: readProcessIdentity(pid) }),
  )
  await assert.rejects(lockDataFolder(folder), new RegExp(`process ${pid}\\) is already using`))
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  const release = await lockDataFolder(folder)
  release()
})

it('distinguishes a copy of a folder in use from the folder itself', async () => {
  const original = newFolder()
  const copy = join(newFolder(), 'copy')
  const release = await lockDataFolder(original)
  cpSync(original, copy, { recursive: true })
  await assert.rejects(lockDataFolder(copy), {
    name: 'EmbeddedPostgresError',
    message:
      `${copy} is a copy of ${original}, which another Signalbox (process ${process.pid}) is ` +
      'using, and a copy of files that change may be damaged: copy it again while that one is ' +
      'stopped, or use pg_dump. The copy of an atomic snapshot starts without its owner.json and ' +
      'postgres/postmaster.pid.',
  })
  const moved = `${original}-moved`
  folders.push(moved)
  renameSync(original, moved)
  await assert.rejects(lockDataFolder(moved), /is already using/)
  renameSync(moved, original)
  release()
})

it('does not report a copy for a record of an earlier version, which names no folder', async () => {
  const folder = newFolder()
  const identity = readProcessIdentity(process.pid)
  writeFileSync(join(folder, 'owner.json'), JSON.stringify({ pid: process.pid, identity }))
  await assert.rejects(lockDataFolder(folder), /is already using/)
})

it('ignores a malformed record and one whose process ID was reused', async () => {
  const folder = newFolder()
  const records = [{ pid: process.pid, identity: 'of an earlier process' }, { pid: '1' }, null, []]
  for (const text of [...records.map(record => JSON.stringify(record)), '', '{']) {
    writeFileSync(join(folder, 'owner.json'), text)
    const release = await lockDataFolder(folder)
    assert.equal(JSON.parse(readFileSync(join(folder, 'owner.json'), 'utf8')).pid, process.pid)
    release()
  }
})

it('releases only its own record', async () => {
  const folder = newFolder()
  const release = await lockDataFolder(folder)
  const other = JSON.stringify({ pid: 1, identity: 'another' })
  writeFileSync(join(folder, 'owner.json'), other)
  release()
  assert.equal(readFileSync(join(folder, 'owner.json'), 'utf8'), other)
})

it('ignores the lock of a service that was killed while it held it', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'owner.lock'))
  const release = await lockDataFolder(folder)
  assert.equal(existsSync(join(folder, 'owner.lock')), false)
  release()
})
