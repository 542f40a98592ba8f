import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseFaultRules } from '../../graph-simulator/fault-rules.ts'
import { PLATFORM_PARTS } from '../../graph-simulator/platform-parts.ts'
import { startSimulator } from '../../graph-simulator/simulator-server.ts'
import { PART_SCRIPTS } from './inject-fault.ts'
import { PLATFORM_FAILURE_NAMES, toFaultRule, toPartRule } from './platform-failures.ts'
import { createSchedule, describeFault, parseFaultNames } from './schedule.ts'

const EVERYTHING = { 'fill disk': true, 'promote standby': true }

it('plans the same faults for the same seed', () => {
  const plan = (seed: number) => createSchedule(seed, { length: 50, capabilities: EVERYTHING })
  assert.deepEqual(plan(7), plan(7))
  assert.notDeepEqual(plan(7).faults, plan(8).faults)
})

it('plans every fault and every failure of the platform within a thousand cycles', () => {
  const { faults } = createSchedule(1, { length: 1_000, capabilities: EVERYTHING })
  assert.equal(new Set(faults.map(({ fault }) => fault)).size, 13)
  const failures = faults.flatMap(each => (each.fault === 'fail platform' ? each.failures : []))
  assert.deepEqual(new Set(failures), new Set(PLATFORM_FAILURE_NAMES))
  for (const fault of faults) assert.match(describeFault(fault), /^\w.+ for \d+ ms$/)
})

it('leaves out what the machine cannot do', () => {
  const capabilities = { 'fill disk': false, 'promote standby': false }
  const { faults } = createSchedule(1, { length: 1_000, capabilities })
  assert.equal(new Set(faults.map(({ fault }) => fault)).size, 11)
})

it('plans chosen faults alone', () => {
  const only = parseFaultNames(['kill process', 'kill store'])
  assert.ok(only)
  const { faults } = createSchedule(1, { length: 100, capabilities: EVERYTHING, only })
  assert.deepEqual([...new Set(faults.map(({ fault }) => fault))].sort(), only)
  assert.equal(parseFaultNames(['kill process', 'rain']), null)
})

it('has a rule that the simulator takes for every failure of the platform', () => {
  const rules = PLATFORM_FAILURE_NAMES.map((name, index) => toFaultRule(name, index))
  assert.deepEqual(parseFaultRules({ rules }), { rules })
})

it('has a rule that every other part of the simulator takes, too', async test => {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0 })
  test.after(close)
  const rules = PLATFORM_FAILURE_NAMES.map((name, index) => toPartRule(name, index))
  assert.equal(PART_SCRIPTS.length, PLATFORM_PARTS.length)
  for (const script of PART_SCRIPTS) await script(url, rules)
})
