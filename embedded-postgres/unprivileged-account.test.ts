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

/** Only root has a choice, and it needs a machine on which the way in question is open. */
async function hasWay(t: TestContext, way: 'uid' | 'namespace'): Promise<boolean> {
  if (!asRoot) {
    t.diagnostic('not root: there is one way only')
    assert.deepEqual(await choose(newFolder()), { way: 'self' })
    return false
  }
  const { uid } = account('nobody')
  const probe =
    way === 'uid'
      ? spawnSync(postgres, ['--version'], { uid, cwd: '/' })
      : spawnSync('unshare', ['--user', '--map-user=1', 'true'])
  if (probe.status !== 0) t.diagnostic(`the way "${way}" is closed on this machine`)
  return probe.status === 0
}

it('in a folder that everybody may enter, root runs PostgreSQL as nobody', async t => {
  if (!(await hasWay(t, 'uid'))) return
  assert.deepEqual(await choose(newFolder()), { way: 'uid', ...account('nobody') })
})

it('in a private home of an ordinary account, root runs PostgreSQL as that account', async t => {
  if (!(await hasWay(t, 'uid'))) return
  const home = newFolder(0o700)
  const { uid, gid } = account('daemon')
  chownSync(home, uid, gid)
  const server = await startEmbeddedPostgres({ dataDirectory: join(home, 'data'), port: 0 })
  await server.stop()
  for (const path of ['data', 'data/postgres/PG_VERSION', 'data/postgres.password']) {
    assert.equal(statSync(join(home, path)).uid, uid, path)
  }
})

it('in a private home of root, PostgreSQL runs in a namespace', async t => {
  if (!(await hasWay(t, 'namespace'))) return
  const chosen = await choose(newFolder(0o700))
  assert.equal(chosen.way, 'namespace')
  const { file, args, options } = commandAs(chosen, '/usr/bin/id', ['-un'])
  assert.equal(execFileSync(file, args, { ...options, encoding: 'utf8' }), 'daemon\n')
})

it('stays with the way in which the database was made as long as it is open', async t => {
  if (!(await hasWay(t, 'namespace'))) return
  const folder = newFolder()
  assert.equal((await choose(folder, 0)).way, 'namespace')
  const followed = await choose(folder, account('daemon').uid)
  // In a checkout below a private folder no other account can reach the binaries.
  if (!(await hasWay(t, 'uid'))) return assert.equal(followed.way, 'namespace')
  assert.deepEqual(followed, { way: 'uid', ...account('daemon') })
})

it('hands the database over when its folder moves to where its account cannot follow', async t => {
  if (!(await hasWay(t, 'uid')) || !(await hasWay(t, 'namespace'))) return
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

it('where no account can reach the folder, root is told in one sentence what to do', async t => {
  if (!(await hasWay(t, 'uid'))) return
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

it('where no account can run the program, the sentence names the program', async t => {
  if (!(await hasWay(t, 'uid'))) return
  const folder = newFolder()
  const program = join(folder, 'postgres')
  await assert.rejects(
    chooseAccount({ program, folder, clusterOwner: null }),
    new RegExp(`can reach ${program}: install Signalbox outside private homes`),
  )
})

it('gives PostgreSQL none of our environment, which holds secrets', () => {
  const ways: UnprivilegedAccount[] = [
    { way: 'self' },
    { way: 'uid', name: 'nobody', uid: 65_534, gid: 65_534 },
    { way: 'namespace', uid: 1, gid: 1 },
  ]
  for (const way of ways) {
    const { options } = commandAs(way, '/bin/true', [])
    assert.deepEqual(Object.keys(options.env ?? {}), ['PATH', 'LC_ALL'])
  }
})
