import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { CITUS_PG_CONFIG, findCitusInstallation } from './installation.ts'

interface FakeInstallation {
  version: string
  files: readonly string[]
}

const COMPLETE = ['bin/initdb', 'bin/postgres', 'share/extension/citus.control']

/** A folder with files of a PostgreSQL, and the path of a `pg_config` that names it. */
function install(test: TestContext, { version, files }: FakeInstallation): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-pg-config-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), '')
  }
  const lines = [version, join(folder, 'bin'), join(folder, 'share')]
  const script = ['#!/bin/sh', ...lines.map(line => `echo '${line}'`), ''].join('\n')
  writeFileSync(join(folder, 'pg_config'), script, { mode: 0o755 })
  return join(folder, 'pg_config')
}

it('finds the programs of each supported PostgreSQL with Citus', test => {
  for (const majorVersion of [15, 16, 17, 18]) {
    const version = `PostgreSQL ${majorVersion}.4 (Debian ${majorVersion}.4-1)`
    const pgConfig = install(test, { version, files: COMPLETE })
    const bin = join(dirname(pgConfig), 'bin')
    assert.deepEqual(findCitusInstallation({ [CITUS_PG_CONFIG]: pgConfig }), {
      initdb: join(bin, 'initdb'),
      postgres: join(bin, 'postgres'),
      majorVersion,
    })
  }
})

it('names how to get one where there is no PostgreSQL with Citus', test => {
  const version = 'PostgreSQL 15.4'
  for (const pgConfig of [
    join(tmpdir(), 'no-such-folder', 'pg_config'),
    install(test, { version, files: COMPLETE.slice(0, 2) }),
    install(test, { version, files: COMPLETE.slice(1) }),
    install(test, { version: 'PostgreSQL 14.20', files: COMPLETE }),
    install(test, { version: 'PostgreSQL 19beta1', files: COMPLETE }),
  ]) {
    const reason = findCitusInstallation({ [CITUS_PG_CONFIG]: pgConfig })
    assert.equal(
      reason,
      `no PostgreSQL 15 to 18 with the Citus extension is installed at ${pgConfig} ` +
        '(SIGNALBOX_CITUS_PG_CONFIG); install one as https://github.com/citusdata/citus ' +
        'describes, or name its pg_config in SIGNALBOX_CITUS_PG_CONFIG',
    )
  }
})

it('ends with 0 and the reason where Citus is not installed', () => {
  const script = join(import.meta.dirname, 'run-suite.ts')
  const file = 'testing/citus/node-failures.on-cluster.ts'
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, file], {
    encoding: 'utf8',
    cwd: join(import.meta.dirname, '..', '..'),
    env: { ...process.env, [CITUS_PG_CONFIG]: '/nowhere/pg_config' },
  })
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(
    stdout,
    /^Skipped: no PostgreSQL 15 to 18 .+\.\nCitus: 0 of 1 test files run, all skipped\.\n$/,
  )
})
