import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { runProgram } from '../../../testing/fixtures/program.ts'
import {
  startConformanceServer,
  startServiceForConformance,
} from '../../../testing/mcp-conformance/conformance-server.ts'
import {
  expectedFailures,
  type SuiteRun,
} from '../../../testing/mcp-conformance/expected-failures.ts'
import {
  FIXTURE_CHECKS,
  FIXTURE_FREE,
  NEED_FIXTURES,
} from '../../../testing/mcp-conformance/fixture-free.ts'

const MODULES = join(import.meta.dirname, '..', '..', '..', 'node_modules')
const STABLE = join(MODULES, 'conformance-stable', 'dist', 'index.js')
const NEXT = join(MODULES, '@modelcontextprotocol', 'conformance', 'dist', 'index.js')

/** Scenarios and passed checks of each suite; fewer would mean that some did not run. */
const RUNS: readonly [SuiteRun, scenarios: number, checks: number, argumentList: string[]][] = [
  ['0.1.16', 30, 26, [STABLE, 'server']],
  ['2025-11-25', 33, 63, [NEXT, 'server', '--requirements', '2025-11-25']],
  ['2026-07-28', 50, 159, [NEXT, 'server', '--requirements', '2026-07-28']],
]

for (const [run, scenarios, checks, argumentList] of RUNS) {
  it(`passes the official conformance suite ${run}`, async test => {
    const url = await startConformanceServer(test)
    const { stdout: log, stderr: terminal } = await runProgram([...argumentList, '--url', url])
    const results = [...log.matchAll(/^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed/gm)]
    assert.equal(results.length, scenarios, log + terminal)
    const failed = results.filter(([, mark]) => mark === '✗').map(([, , name]) => name)
    assert.deepEqual(failed.toSorted(), expectedFailures(run), log + terminal)
    const passed = results.map(([, , , count]) => Number(count))
    assert.equal(
      passed.reduce((sum, count) => sum + count, 0),
      checks,
      log,
    )
  })
}

for (const [run, , , argumentList] of RUNS) {
  it(`the service itself passes the scenarios of ${run} that need no fixtures`, async test => {
    const url = await startServiceForConformance(test)
    const { stdout: log, stderr: terminal } = await runProgram([...argumentList, '--url', url])
    const passed = namesIn(log, /^✓ ([\w-]+): [1-9]\d* passed, 0 failed/gm)
    const missing = FIXTURE_FREE[run].filter(name => !passed.includes(name))
    assert.deepEqual(missing, [], log + terminal)
    const others = namesIn(log, /^[✓✗] ([\w-]+): \d+ passed/gm)
      .filter(name => !FIXTURE_FREE[run].includes(name))
      .filter(name => run !== FIXTURE_CHECKS.run || name !== FIXTURE_CHECKS.scenario)
    assert.deepEqual(
      others.filter(name => !NEED_FIXTURES.some(({ scenarios }) => scenarios.test(name))),
      [],
      'run them against the service, or say why not',
    )
  })
}

it(`the service itself passes the checks of ${FIXTURE_CHECKS.scenario} without tools`, async test => {
  const { scenario, run, checks, passed } = FIXTURE_CHECKS
  const url = await startServiceForConformance(test)
  const { stdout, stderr: terminal } = await runProgram([
    ...[NEXT, 'server', '--scenario', scenario, '--spec-version', run, '--url', url],
  ])
  const log = stripVTControlCharacters(stdout)
  assert.equal(namesIn(log, /\[([\w-]+) *\] SUCCESS/g).length, passed, log + terminal)
  assert.deepEqual(namesIn(log, /\[([\w-]+) *\] FAILURE/g).toSorted(), checks.toSorted(), log)
  const untestable = log.match(/Error: Not testable: server does not list the diagnostic tool/g)
  assert.equal(untestable?.length, checks.length, log)
})

function namesIn(log: string, pattern: RegExp): string[] {
  return [...log.matchAll(pattern)].map(([, name = '']) => name)
}
