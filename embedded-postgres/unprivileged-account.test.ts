import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it, type TestContext } from 'node:test'
import { findBinaries } from './binaries.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'
import {
  chooseAccount,
  commandAs,
  listMachineAccounts,
  type UnprivilegedAccount,
} from './unprivileged-account.ts'

const asRoot = process.geteuid?.() === 0
const folders: string[] = []
const { postgres } = await findBinaries()

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newFolder(mode = 0o755): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  chmodSync(folder, mode)
  folders.push(folder)
  return folder
}

function account(name: string) {
  const found = listMachineAccounts().find(candidate => candidate.name === name)
  assert.ok(found, `this machine has an account ${name}`)
  return found
}

function choose(folder: string, clusterOwner: number | null = null): Promise<UnprivilegedAccount> {
  return chooseAccount({ program: postgres, folder, clusterOwner })
}

/** Only root may choose, and the machine must allow this kind of account. */
async function canUse(t: TestContext, kind: 'uid' | 'namespace'): Promise<boolean> {
  if (!asRoot) {
    t.diagnostic('not root: PostgreSQL runs as this account')
    assert.deepEqual(await choose(newFolder()), { kind: 'self' })
    return false
  }
  const { uid } = account('nobody')
  const probe =
    kind === 'uid'
      ? spawnSync(postgres, ['--version'], { uid, cwd: '/' })
      : spawnSync('unshare', ['--user', '--map-user=1', 'true'])
  if (probe.status !== 0)
    t.diagnostic(`an account of the kind "${kind}" is not available on this machine`)
  return probe.status === 0
}

it('runs PostgreSQL as nobody for root in a folder that every account may enter', async t => {
  if (!(await canUse(t, 'uid'))) return
  assert.deepEqual(await choose(newFolder()), { kind: 'uid', ...account('nobody') })
})

it('runs PostgreSQL as the owner for root in a private home of an ordinary account', async t => {
  if (!(await canUse(t, 'uid'))) return
  const home = newFolder(0o700)
  const { uid, gid } = account('daemon')
  chownSync(home, uid, gid)
  const server = await startEmbeddedPostgres({ dataDirectory: join(home, 'data'), port: 0 })
  await server.stop()
  for (const path of ['data', 'data/postgres/PG_VERSION', 'data/postgres.password']) {
    assert.equal(statSync(join(home, path)).uid, uid, path)
  }
})

it('runs PostgreSQL in a user namespace in a private home of root', async t => {
  if (!(await canUse(t, 'namespace'))) return
  const chosen = await choose(newFolder(0o700))
  assert.equal(chosen.kind, 'namespace')
  const { file, args, options } = commandAs(chosen, '/usr/bin/id', ['-un'])
  assert.equal(execFileSync(file, args, { ...options, encoding: 'utf8' }), 'daemon\n')
})

it('keeps the account of an existing cluster while that account works', async t => {
  if (!(await canUse(t, 'namespace'))) return
  const folder = newFolder()
  assert.equal((await choose(folder, 0)).kind, 'namespace')
  const followed = await choose(folder, account('daemon').uid)
  // In a checkout below a private folder no other account can reach the binaries.
  if (!(await canUse(t, 'uid'))) return assert.equal(followed.kind, 'namespace')
  assert.deepEqual(followed, { kind: 'uid', ...account('daemon') })
})

it('changes the owner of the cluster when its account can no longer enter the folder', async t => {
  if (!(await canUse(t, 'uid')) || !(await canUse(t, 'namespace'))) return
  const home = newFolder()
  const dataDirectory = join(home, 'data')
  const ownerAfterStart = async () => {
    const server = await startEmbeddedPostgres({ dataDirectory, port: 0 })
    await server.stop()
    const paths = ['postgres', 'postgres/PG_VERSION', 'postgres/base/1/PG_VERSION']
    const owners = paths.map(path => statSync(join(dataDirectory, path)).uid)
    assert.equal(new Set(owners).size, 1)
    return owners[0]
  }
  assert.equal(await ownerAfterStart(), account('nobody').uid)
  chmodSync(home, 0o700)
  assert.equal(await ownerAfterStart(), 0)
})

it('names the folder and the fixes when no account can enter it', async t => {
  if (!(await canUse(t, 'uid'))) return
  const home = newFolder(0o700)
  const folder = join(home, 'data')
  mkdirSync(folder, { mode: 0o700 })
  chownSync(home, account('daemon').uid, account('daemon').gid)
  chownSync(folder, account('nobody').uid, account('nobody').gid)
  await assert.rejects(choose(folder), {
    name: 'EmbeddedPostgresError',
    message:
      'PostgreSQL does not run as root, and no other account of this machine can reach ' +
      `${folder}: set SIGNALBOX_DATA_DIR to a folder outside private homes (like ` +
      '/var/lib/signalbox), start it as an ordinary user, or set DATABASE_URL to a PostgreSQL ' +
      '15 to 18 of your own.',
  })
})

it('names the program when no account can run it', async t => {
  if (!(await canUse(t, 'uid'))) return
  const folder = newFolder()
  const program = join(folder, 'postgres')
  await assert.rejects(
    chooseAccount({ program, folder, clusterOwner: null }),
    new RegExp(`can reach ${program}: install Signalbox outside private homes`),
  )
})

it('passes none of the environment, which contains secrets, to PostgreSQL', () => {
  const accounts: UnprivilegedAccount[] = [
    { kind: 'self' },
    { kind: 'uid', name: 'nobody', uid: 65_534, gid: 65_534 },
    { kind: 'namespace', uid: 1, gid: 1 },
  ]
  for (const each of accounts) {
    const { options } = commandAs(each, '/bin/true', [])
    assert.deepEqual(Object.keys(options.env ?? {}), ['PATH', 'LC_ALL'])
  }
})
