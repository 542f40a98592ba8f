import assert from 'node:assert/strict'
import {
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it, type TestContext } from 'node:test'
import { changeClusterOwner, findClusterOwner } from './cluster-owner.ts'

const OLD = 4711
const NEW = { uid: 4712, gid: 4712 }
const folders: string[] = []

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

interface Fixture {
  cluster: string
  /** A file of root outside the cluster. */
  rootFile: string
}

/** A small cluster of the old owner. Only root can create one. */
function newFixture(t: TestContext): Fixture | null {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  folders.push(folder)
  const fixture = { cluster: join(folder, 'postgres'), rootFile: join(folder, 'root-file') }
  writeFileSync(fixture.rootFile, 'root')
  if (process.geteuid?.() !== 0) {
    t.diagnostic('not root: owners cannot be changed')
    assert.throws(() => changeClusterOwner(folder, process.geteuid?.() ?? 0, NEW))
    return null
  }
  mkdirSync(join(fixture.cluster, 'base'), { recursive: true })
  for (const name of ['PG_VERSION', 'base/1', 'zone'])
    writeFileSync(join(fixture.cluster, name), '')
  for (const name of ['', 'PG_VERSION', 'base', 'base/1', 'zone']) chown(fixture, name)
  return fixture
}

function chown({ cluster }: Fixture, name: string, uid = OLD): void {
  chownSync(join(cluster, name), uid, uid)
}

function ownerOf({ cluster }: Fixture, name: string): number {
  return lstatSync(join(cluster, name)).uid
}

function changeOwner({ cluster }: Fixture): void {
  changeClusterOwner(cluster, OLD, NEW)
}

it('changes the owner of every folder and file', t => {
  const fixture = newFixture(t)
  if (!fixture) return
  changeOwner(fixture)
  for (const name of ['', 'PG_VERSION', 'base', 'base/1', 'zone']) {
    assert.equal(ownerOf(fixture, name), NEW.uid, name)
  }
})

it('refuses a link out of the cluster, to a file or to a folder', t => {
  for (const target of ['root-file', '.']) {
    const fixture = newFixture(t)
    if (!fixture) return
    symlinkSync(join(fixture.rootFile, '..', target), join(fixture.cluster, 'foreign'))
    assert.throws(() => changeOwner(fixture), /foreign does not belong in a database folder/)
    assert.equal(lstatSync(fixture.rootFile).uid, 0)
  }
})

it('refuses a file with a second hard link', t => {
  const fixture = newFixture(t)
  if (!fixture) return
  linkSync(fixture.rootFile, join(fixture.cluster, 'foreign'))
  assert.throws(() => changeOwner(fixture), /foreign does not belong in a database folder/)
  assert.equal(lstatSync(fixture.rootFile).uid, 0)
})

it('refuses a file of a third account', t => {
  const fixture = newFixture(t)
  if (!fixture) return
  chown(fixture, 'zone', 4713)
  assert.throws(() => changeOwner(fixture), /zone does not belong in a database folder/)
  assert.equal(ownerOf(fixture, 'zone'), 4713)
})

it('completes an interrupted change of the owner', t => {
  const fixture = newFixture(t)
  if (!fixture) return
  symlinkSync(fixture.rootFile, join(fixture.cluster, 'foreign'))
  assert.throws(() => changeOwner(fixture))
  rmSync(join(fixture.cluster, 'foreign'))
  assert.equal(findClusterOwner(fixture.cluster), OLD)
  changeOwner(fixture)
  assert.equal(findClusterOwner(fixture.cluster), NEW.uid)
  assert.equal(ownerOf(fixture, 'base/1'), NEW.uid)
})
