import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { findBinaries } from './binaries.ts'
import { type ClusterLocation, ensureCluster } from './cluster.ts'
import { chooseAccount } from './unprivileged-account.ts'

const folders: string[] = []

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function newPlace(): Promise<ClusterLocation> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  chmodSync(folder, 0o755)
  folders.push(folder)
  const binaries = await findBinaries()
  const needs = { program: binaries.postgres, folder, clusterOwner: null }
  return { binaries, account: await chooseAccount(needs), folder }
}

/** Stands where initdb stands and stops halfway, as a kill, a power cut or a full disk would. */
function brokenInitdb({ folder }: ClusterLocation, lastCommand: string): string {
  const script = join(folder, 'broken-initdb')
  const halfway = `for last; do :; done
    cluster=$(echo "$last" | cut -d= -f2)
    mkdir "$cluster" && echo 18 >"$cluster/PG_VERSION"`
  writeFileSync(script, `#!/bin/sh\n${halfway}\n${lastCommand}\n`, { mode: 0o755 })
  return script
}

it('makes a cluster that asks for a password and leaves no scrap beside it', async () => {
  const place = await newPlace()
  const cluster = await ensureCluster(place)
  assert.deepEqual(readdirSync(place.folder).sort(), ['postgres', 'postgres.password'])
  const rules = readFileSync(join(cluster, 'pg_hba.conf'), 'utf8')
  const methods = rules
    .split('\n')
    .flatMap(line => /^(?:local|host).* (\S+)$/.exec(line)?.[1] ?? [])
  assert.ok(methods.length > 0)
  assert.deepEqual([...new Set(methods)], ['scram-sha-256'])
})

it('leaves nothing that looks like a cluster when initdb fails, and says why', async () => {
  const place = await newPlace()
  const failing = [
    ['echo "initdb: error: could not write: No space left on device" >&2; exit 1', /is full/],
    ['kill -9 $$', /PostgreSQL did not start \(without a word\)/],
  ] as const
  for (const [lastCommand, sentence] of failing) {
    const initdb = brokenInitdb(place, lastCommand)
    const broken = { ...place, binaries: { ...place.binaries, initdb } }
    await assert.rejects(ensureCluster(broken), sentence)
    const left = ['broken-initdb', 'postgres.log', 'postgres.password']
    assert.deepEqual(readdirSync(place.folder).sort(), left)
  }
  assert.match(
    readFileSync(join(place.folder, 'postgres.log'), 'utf8'),
    /^initdb: error: could not/,
  )
  const kept = readFileSync(join(place.folder, 'postgres.password'), 'utf8')
  await ensureCluster(place)
  assert.equal(readFileSync(join(place.folder, 'postgres.password'), 'utf8'), kept)
})

it('clears away what a service left that was killed during initdb', async () => {
  const place = await newPlace()
  const leftOver = join(place.folder, 'postgres.new-of-a-killed-service')
  mkdirSync(join(leftOver, 'cluster', 'base'), { recursive: true })
  writeFileSync(join(leftOver, 'cluster', 'PG_VERSION'), '18\n')
  writeFileSync(join(leftOver, 'password'), 'left over')
  if (place.account.way === 'uid') execFileSync('chown', ['-R', `${place.account.uid}`, leftOver])
  const cluster = await ensureCluster(place)
  assert.equal(existsSync(leftOver), false)
  assert.ok(existsSync(join(cluster, 'global', 'pg_control')))
})
