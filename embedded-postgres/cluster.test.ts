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

async function newLocation(): Promise<ClusterLocation> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-postgres-'))
  chmodSync(folder, 0o755)
  folders.push(folder)
  const binaries = await findBinaries()
  const needs = { program: binaries.postgres, folder, clusterOwner: null }
  return { binaries, account: await chooseAccount(needs), folder }
}

/** In place of initdb: stops halfway, as after a kill, a power loss or on a full disk. */
function brokenInitdb({ folder }: ClusterLocation, lastCommand: string): string {
  const script = join(folder, 'broken-initdb')
  const halfway = `for last; do :; done
    cluster=$(echo "$last" | cut -d= -f2)
    mkdir "$cluster" && echo 18 >"$cluster/PG_VERSION"`
  writeFileSync(script, `#!/bin/sh\n${halfway}\n${lastCommand}\n`, { mode: 0o755 })
  return script
}

it('creates a cluster that requires a password and leaves no staging folder', async () => {
  const location = await newLocation()
  const cluster = await ensureCluster(location)
  assert.deepEqual(readdirSync(location.folder).sort(), ['postgres', 'postgres.password'])
  const rules = readFileSync(join(cluster, 'pg_hba.conf'), 'utf8')
  const methods = rules
    .split('\n')
    .flatMap(line => /^(?:local|host).* (\S+)$/.exec(line)?.[1] ?? [])
  assert.ok(methods.length > 0)
  assert.deepEqual([...new Set(methods)], ['scram-sha-256'])
})

it('leaves no cluster when initdb fails, and reports why', async () => {
  const location = await newLocation()
  const failing = [
    ['echo "initdb: error: could not write: No space left on device" >&2; exit 1', /is full/],
    ['kill -9 $$', /PostgreSQL did not start \(no reason logged\)/],
  ] as const
  for (const [lastCommand, sentence] of failing) {
    const initdb = brokenInitdb(location, lastCommand)
    const broken = { ...location, binaries: { ...location.binaries, initdb } }
    await assert.rejects(ensureCluster(broken), sentence)
    const left = ['broken-initdb', 'postgres.log', 'postgres.password']
    assert.deepEqual(readdirSync(location.folder).sort(), left)
  }
  assert.match(
    readFileSync(join(location.folder, 'postgres.log'), 'utf8'),
    /^initdb: error: could not/,
  )
  const kept = readFileSync(join(location.folder, 'postgres.password'), 'utf8')
  await ensureCluster(location)
  assert.equal(readFileSync(join(location.folder, 'postgres.password'), 'utf8'), kept)
})

it('removes the staging folder of a service that was killed during initdb', async () => {
  const location = await newLocation()
  const leftOver = join(location.folder, 'postgres.new-of-a-killed-service')
  mkdirSync(join(leftOver, 'cluster', 'base'), { recursive: true })
  writeFileSync(join(leftOver, 'cluster', 'PG_VERSION'), '18\n')
  writeFileSync(join(leftOver, 'password'), 'abandoned')
  if (location.account.kind === 'uid')
    execFileSync('chown', ['-R', `${location.account.uid}`, leftOver])
  const cluster = await ensureCluster(location)
  assert.equal(existsSync(leftOver), false)
  assert.ok(existsSync(join(cluster, 'global', 'pg_control')))
})
