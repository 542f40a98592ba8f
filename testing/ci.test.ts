import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { it, type TestContext } from 'node:test'

const SCRIPT = join(import.meta.dirname, '..', '.ci', 'run')

/** Runs the script with an npm that only notes its arguments and fails for one of them. */
function runScript(test: TestContext, failing = 'nothing') {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-ci-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  const log = join(folder, 'calls')
  const npm = `#!/bin/sh\necho "$*" >> '${log}'\ncase "$*" in *${failing}*) exit 7;; esac\n`
  const programs = { npm, go: '#!/bin/sh\n', python3: '#!/bin/sh\n' }
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), text, { mode: 0o755 })
  }
  const PATH = `${folder}${delimiter}${process.env.PATH}`
  const { status } = spawnSync(SCRIPT, { env: { ...process.env, PATH } })
  return { status, calls: readFileSync(log, 'utf8').trimEnd().split('\n') }
}

const CITUS = 'run test:citus -- testing/citus/node-failures.on-cluster.ts'

it('kills a node of a cluster before all other tests, whose summary comes last', test => {
  assert.deepEqual(runScript(test), { status: 0, calls: ['ci', CITUS, 'test'] })
})

it('fails when a test on the cluster fails', test => {
  assert.deepEqual(runScript(test, 'test:citus'), { status: 7, calls: ['ci', CITUS] })
})
