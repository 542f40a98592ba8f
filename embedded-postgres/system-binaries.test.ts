import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import pg from 'pg'
import { findBinaries, findSystemBinaries } from './binaries.ts'
import { lockDataFolder } from './data-folder.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'

/** A folder that every account may enter, because root starts PostgreSQL as another one. */
function createFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-system-postgres-'))
  chmodSync(folder, 0o755)
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The programs of npm under the version number of another build. */
async function installPrograms(test: TestContext, version: string): Promise<string> {
  const folder = createFolder(test)
  const programs = await findBinaries()
  for (const name of ['initdb', 'postgres'] as const) {
    const script = [
      '#!/bin/sh',
      `if [ "$1" = --version ]; then echo "${name} (PostgreSQL) ${version} (Debian 1)"; exit; fi`,
      `exec '${programs[name]}' "$@"`,
    ]
    writeFileSync(join(folder, name), `${script.join('\n')}\n`, { mode: 0o755 })
  }
  return folder
}

it('runs the PostgreSQL of a folder on a new data folder', async test => {
  const binariesFolder = await installPrograms(test, '18.99')
  const dataDirectory = join(createFolder(test), 'data')
  const server = await startEmbeddedPostgres({ dataDirectory, port: 0, binariesFolder })
  test.after(() => server.stop())
  assert.equal(server.version, '18.99')
  const client = new pg.Client({ connectionString: server.connectionString })
  await client.connect()
  assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }])
  await client.end()
})

it('replaces a server of another version that a killed service left behind', async test => {
  const dataDirectory = join(createFolder(test), 'data')
  const left = await startEmbeddedPostgres({ dataDirectory, port: 0 })
  test.after(() => left.stop())
  // The record of a killed service names a process that is gone.
  writeFileSync(join(dataDirectory, 'owner.json'), JSON.stringify({ pid: 0, identity: 'gone' }))
  const binariesFolder = await installPrograms(test, '18.99')
  const server = await startEmbeddedPostgres({ dataDirectory, port: 0, binariesFolder })
  test.after(() => server.stop())
  assert.equal(server.isAdopted, false)
  assert.notEqual(server.processId, left.processId)
})

it('refuses another major version with what to set', async test => {
  for (const version of ['17.9', '19beta1']) {
    const folder = await installPrograms(test, version)
    await assert.rejects(findSystemBinaries(folder), {
      name: 'EmbeddedPostgresError',
      message:
        `${join(folder, 'postgres')} is PostgreSQL ${version}: set SIGNALBOX_POSTGRES_BIN to a ` +
        'PostgreSQL 18, or set DATABASE_URL to a PostgreSQL 15 to 18 of your own.',
    })
  }
})

it('refuses a folder without the programs and leaves the data folder unlocked', async test => {
  const [binariesFolder, dataDirectory] = [createFolder(test), createFolder(test)]
  await assert.rejects(startEmbeddedPostgres({ dataDirectory, port: 0, binariesFolder }), {
    name: 'EmbeddedPostgresError',
    message:
      `The embedded PostgreSQL at ${join(binariesFolder, 'postgres')} does not run here: ` +
      'set SIGNALBOX_POSTGRES_BIN to the folder with its programs postgres and initdb.',
  })
  const release = await lockDataFolder(dataDirectory)
  release()
})
