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

interface Scene {
  cluster: string
  /** A file of root outside the cluster, the prize of every trick. */
  treasure: string
}

/** A small cluster of the old owner. Only root can make one, as only root may hand one over. */
function newScene(t: TestContext): Scene | null {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  folders.push(folder)
  const scene = { cluster: join(folder, 'postgres'), treasure: join(folder, 'treasure') }
  writeFileSync(scene.treasure, 'root')
  if (process.geteuid?.() !== 0) {
    t.diagnostic('not root: nothing can be handed over, and nothing is')
    assert.throws(() => changeClusterOwner(folder, process.geteuid?.() ?? 0, NEW))
    return null
  }
  mkdirSync(join(scene.cluster, 'base'), { recursive: true })
  for (const name of ['PG_VERSION', 'base/1', 'zone']) writeFileSync(join(scene.cluster, name), '')
  for (const name of ['', 'PG_VERSION', 'base', 'base/1', 'zone']) give(scene, name)
  return scene
}

function give({ cluster }: Scene, name: string, uid = OLD): void {
  chownSync(join(cluster, name), uid, uid)
}

function ownerOf({ cluster }: Scene, name: string): number {
  return lstatSync(join(cluster, name)).uid
}

function handOver({ cluster }: Scene): void {
  changeClusterOwner(cluster, OLD, NEW)
}

it('hands over every folder and file', t => {
  const scene = newScene(t)
  if (!scene) return
  handOver(scene)
  for (const name of ['', 'PG_VERSION', 'base', 'base/1', 'zone']) {
    assert.equal(ownerOf(scene, name), NEW.uid, name)
  }
})

it('never follows a link out of the cluster, to a file or to a folder', t => {
  for (const target of ['treasure', '.']) {
    const scene = newScene(t)
    if (!scene) return
    symlinkSync(join(scene.treasure, '..', target), join(scene.cluster, 'trap'))
    assert.throws(() => handOver(scene), /trap does not belong in a database folder/)
    assert.equal(lstatSync(scene.treasure).uid, 0)
  }
})

it('never gives away a file that has a second name elsewhere', t => {
  const scene = newScene(t)
  if (!scene) return
  linkSync(scene.treasure, join(scene.cluster, 'trap'))
  assert.throws(() => handOver(scene), /trap does not belong in a database folder/)
  assert.equal(lstatSync(scene.treasure).uid, 0)
})

it('never gives away the file of a third account', t => {
  const scene = newScene(t)
  if (!scene) return
  give(scene, 'zone', 4713)
  assert.throws(() => handOver(scene), /zone does not belong in a database folder/)
  assert.equal(ownerOf(scene, 'zone'), 4713)
})

it('finishes a handover that was cut short', t => {
  const scene = newScene(t)
  if (!scene) return
  symlinkSync(scene.treasure, join(scene.cluster, 'trap'))
  assert.throws(() => handOver(scene))
  rmSync(join(scene.cluster, 'trap'))
  assert.equal(findClusterOwner(scene.cluster), OLD)
  handOver(scene)
  assert.equal(findClusterOwner(scene.cluster), NEW.uid)
  assert.equal(ownerOf(scene, 'base/1'), NEW.uid)
})
