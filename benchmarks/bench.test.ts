import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { it } from 'node:test'

/** Tiny loads, so that the benchmarks cannot rot unseen. No time is asserted. */
const MAIN = join(import.meta.dirname, 'main.ts')
const PATIENCE = 300_000
const TINY = ['--rounds', '1', '--seconds', '0.4', '--warm-up', '0.2']

it('acceptance stores one row for each 2xx answer, with and without delivery beside it', () => {
  const { status, stdout, stderr } = bench('acceptance', '--connections', '4', ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  const [, rows, deliveries, answers] =
    /^rows (\d+), deliveries (\d+), 2xx answers (\d+)$/m.exec(stdout) ?? []
  assert.ok(Number(answers) > 0)
  assert.equal(rows, answers)
  assert.equal(deliveries, answers)
  const [, whileDelivering, told] = /^rows (\d+), 2xx answers (\d+) \(a'\)$/m.exec(stdout) ?? []
  assert.ok(Number(told) > 0)
  assert.equal(whileDelivering, told)
})

it('delivery brings every stored delivery to the simulator once', () => {
  const { status, stdout, stderr } = bench('delivery', '--events', '1500', ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(stdout, /^stored 1500, accepted 1500, received once 1500$/m)
})

it('an unknown benchmark or an unbounded load is refused with the usage', () => {
  for (const args of [['speed'], [], ['delivery', '--events', '1e9'], ['delivery', '--events', '']])
    assert.match(refusal(args), /Usage: npm run bench/)
})

function bench(...args: string[]) {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', timeout: PATIENCE })
}

function refusal(args: string[]): string {
  const { status, stderr } = bench(...args)
  assert.equal(status, 1)
  return stderr
}
