// Full run only: runs measurements.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { it } from 'node:test'

/** Tiny loads keep the benchmarks working. No time is asserted. */
const MAIN = join(import.meta.dirname, 'main.ts')
const PATIENCE = 300_000
const TINY = ['--rounds', '1', '--seconds', '0.4', '--warm-up', '0.2']

it('load measures every number of workers, trackers and duplicates, and then the memory', () => {
  const numbers = ['--workers', '1,2', '--trackers', '1,5', '--duplicates', '0,10,100']
  const load = ['--connections', '4', '--soak-minutes', '0.02', ...numbers]
  const { status, stdout, stderr } = bench('load', ...load, ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  const scenarios = ['1 1 0', '2 1 0', '1 5 0', '1 1 10', '1 1 100', '2 5 10']
  for (const scenario of scenarios) {
    const [workers, trackers, duplicates] = scenario.split(' ')
    const names = `^${workers} +${trackers} +${duplicates} %`
    assert.match(stdout, new RegExp(`${names} +[1-9][\\d,]* +\\d\\.\\d\\d `, 'm'))
  }
  assert.match(stdout, /^npm start +1 +0 % +[1-9]/m)
  assert.match(stdout, /^the highest p99 under half of the largest load is [\d.]+ ms; target/m)
  const [, stored] = /stored (\d+), delivered \d+ when the load ended$/m.exec(stdout) ?? []
  assert.ok(Number(stored) > 0)
})

it('repeats only purchases that were acknowledged', () => {
  const numbers = [
    '--workers',
    '1',
    '--trackers',
    '1',
    '--duplicates',
    '100',
    '--soak-minutes',
    '0',
  ]
  const { status, stderr } = bench('load', '--connections', '2', ...numbers, ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
})

it('destinations measures what a second destination costs, with all its deliveries', () => {
  const { status, stdout, stderr } = bench('destinations', '--connections', '4', ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(stdout, /^WAL bytes per event +[1-9][\d,]*( +[1-9][\d,]* +-?[\d.]+ %){2}$/m)
  assert.match(stdout, /^target for two at most 8 % more CPU of both: (met|missed)$/m)
})

it('acceptance stores one row for each 2xx answer, with and without delivery', () => {
  const { status, stdout, stderr } = bench('acceptance', '--connections', '4', ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  const [, rows, deliveries, answers] =
    /^rows (\d+), deliveries (\d+), 2xx answers (\d+)$/m.exec(stdout) ?? []
  assert.ok(Number(answers) > 0)
  assert.equal(rows, answers)
  assert.equal(deliveries, answers)
  const [, whileDelivering, answered] = /^rows (\d+), 2xx answers (\d+) \(a'\)$/m.exec(stdout) ?? []
  assert.ok(Number(answered) > 0)
  assert.equal(whileDelivering, answered)
  const [, ofLargeBodies, toldOfThem] = /^rows (\d+), 2xx answers (\d+) \(e\)$/m.exec(stdout) ?? []
  assert.ok(Number(toldOfThem) > 0)
  assert.equal(ofLargeBodies, toldOfThem)
})

it('commits measures what PostgreSQL spends on an event, and stores all of them', () => {
  const { status, stdout, stderr } = bench('commits', ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  for (const name of ['new visitors, groups of 128', 'returning visitors', 'after a withdrawal']) {
    assert.match(stdout, new RegExp(`^${name}.* +[1-9][\\d.]* +[\\d.]+ +[1-9][\\d,]* `, 'm'))
  }
})

it('store-settings compares a filled store with a new one under each setting', () => {
  const size = ['--history', '2000', '--interval', '25600']
  const { status, stdout, stderr } = bench('store-settings', ...size, ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  for (const name of ['the base', 'shared_buffers', 'wal_compression', 'fillfactor 70']) {
    assert.match(stdout, new RegExp(`^${name}.* 25,600 +[1-9][\\d,]* +[\\d.]+ +[1-9]`, 'm'))
  }
})

it('workers measures bare HTTP, serve with each number of workers, and npm start', () => {
  const load = ['--connections', '4', '--workers', '1,2']
  const { status, stdout, stderr } = bench('workers', ...load, ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  for (const name of ['bare HTTP, one process', 'serve, 1 worker', 'serve, 2 workers']) {
    assert.match(stdout, new RegExp(`^${name} +[1-9][\\d,]* +\\d\\.\\d\\d `, 'm'))
  }
  assert.match(stdout, /^npm start +[1-9]/m)
})

it('fresh reports the delivery backlog with and without history', () => {
  const load = ['--history', '0,500', '--minutes', '0.02', '--connections', '4']
  const { status, stdout, stderr } = bench('fresh', ...load, ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(stdout, /^oldest due delivery, s: first 10 s +\d/m)
  for (const history of ['0', '500']) {
    const line = new RegExp(
      `^rows (\\d+), 2xx answers (\\d+) \\(${history} events of history\\)$`,
      'm',
    )
    const [, rows, answers] = line.exec(stdout) ?? []
    assert.ok(Number(answers) > 0)
    assert.equal(rows, answers)
  }
})

it('delivery delivers every stored event once', () => {
  const stdout = deliver('plain', '--events', '1500')
  assert.match(stdout, /^stored 1500, accepted 1500, received once 1500$/m)
  assert.doesNotMatch(stdout, /^(faults|fairness|outage):/m)
})

it('delivery delivers every event despite failed requests, some of them twice', () => {
  const stdout = deliver('faults', '--events', '300', '--batch', '3', '--throttles', '0')
  const [, again] =
    /^stored 300, accepted 300, received once 300, received again (\d+)$/m.exec(stdout) ?? []
  assert.ok(Number(again) > 0)
  assert.match(stdout, /^failed: HTTP 503 code 2 1, /m)
})

it('delivery delivers every event to several destinations', () => {
  const stdout = deliver('fairness', '--events', '300', '--destinations', '3')
  assert.match(stdout, /^fairness: one round of 300 deliveries to 3 destinations, /m)
  assert.match(stdout, /^requests per 1,000 events +10\.00$/m)
  assert.match(stdout, /^stored 300, accepted 300, received once 300$/m)
})

it('delivery delivers every event after an outage', () => {
  const load = ['--outage-events', '300', '--outage-minutes', '0.02', '--batch', '3']
  const stdout = deliver('outage', ...load)
  assert.match(stdout, /^failed requests during the outage +[1-9]/m)
  assert.match(stdout, /^stored 300, accepted 300, received once 300$/m)
  assert.match(stdout, /^pending at recovery: .*\d+ queued after 0 attempts/m)
})

it('list reads every page up to the last, with the correct total', () => {
  const { status, stdout, stderr } = bench('list', '--sizes', '30,2000', '--requests', '5')
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(stdout, /^last page, of 2,000 events +[\d.]+ +[\d.]+$/m)
  const buffers = /^buffers of the middle page, of 2,000 events: \d+; target at most 500: met$/m
  assert.match(stdout, buffers)
  assert.match(stdout, /^first page: p99 grows [\d.]+ times/m)
})

it('dashboard opens the pages of trackers of several sizes', () => {
  const { status, stdout, stderr } = bench('dashboard', '--sizes', '30,300', '--rounds', '1')
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(stdout, /^overview, first visit, of 300 events +\d[\d.]+ +\d[\d.]+ +target/m)
  assert.match(stdout, /^events, of 300 events +\d[\d.]+/m)
})

it('erasure erases every event of each person and reports the time', () => {
  const { status, stdout, stderr } = bench('erasure', '--sizes', '90,1500', '--persons', '5')
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(stdout, /^3 people among 90 events +24 +[\d.]+ +[\d.]+ +target at most 100: /m)
  assert.match(stdout, /^5 people among 1,500 events +75 +[\d.]+ +[\d.]+ +target at most 100: /m)
  assert.match(stdout, /^p50 grows [\d.]+ times, p99 [\d.]+ times$/m)
})

it('retention expires all due rows during acceptance, without losing an event', () => {
  const load = ['--payloads', '2000', '--old-events', '1500', '--connections', '4']
  const { status, stdout, stderr } = bench('retention', ...load, ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(stdout, /^days of payloads dropped +3\d$/m)
  assert.match(stdout, /^events expired +1,500$/m)
  const [, rows, answers] = /^rows (\d+), 2xx answers (\d+)$/m.exec(stdout) ?? []
  assert.ok(Number(answers) > 0)
  assert.equal(rows, answers)
})

it('export writes every event in each format, as COPY of the same rows does', () => {
  const { status, stdout, stderr } = bench('export', '--events', '2500', '--rounds', '1')
  assert.equal(stderr, '')
  assert.equal(status, 0)
  assert.match(stdout, /^2,500 purchases, [1-9][\d,]+ bytes each as NDJSON$/m)
  for (const format of ['ndjson', 'csv', 'parquet']) {
    const line = `^export --format ${format} +[1-9][\\d,]* +[\\d.]+ +target at least 20,000: `
    assert.match(stdout, new RegExp(line, 'm'))
  }
})

it('growth delivers all accepted events and counts the buffers of every operation', () => {
  const load = ['--history', '0,3000', '--interval', '1000', '--failures', '200']
  const { status, stdout, stderr } = bench('growth', ...load, ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  for (const history of ['0', '3,000']) {
    const line = new RegExp(`^accepted (\\d+), delivered (\\d+) \\(${history} events`, 'm')
    const [, accepted, delivered] = line.exec(stdout) ?? []
    assert.ok(Number(accepted) >= 2_000)
    assert.equal(delivered, accepted)
  }
  const figures = '(-|[\\d,]+)  +[1-9][\\d,]*'
  for (const name of [
    'list: page 1',
    'a single day: page in the middle',
    'claim, read and settle',
  ]) {
    assert.match(stdout, new RegExp(`^${name} +${figures}`, 'm'))
  }
  assert.match(stdout, /^erase a person of 30 events +[1-9][\d,]+ +[1-9][\d,]+ +\d/m)
  assert.match(stdout, /^delivery_queue +\d[\d.]* %, [\d,]+ +\d/m)
  assert.doesNotMatch(stdout, /failed|target at/)
})

it('rejects an unknown benchmark and an unbounded load with the usage', () => {
  const unbounded = ['--events', '1e9']
  const wrongs = [
    ['speed'],
    ['load', 'list'],
    ['delivery', ...unbounded],
    ['delivery', '--events', ''],
  ]
  for (const args of wrongs) assert.match(refusal(args), /Usage: npm run bench/)
  const names = /^--scenario must be one of plain, faults, fairness, outage, not "slow"\.$/m
  assert.match(refusal(['delivery', '--scenario', 'slow']), names)
})

function deliver(scenario: string, ...args: string[]): string {
  const { status, stdout, stderr } = bench('delivery', '--scenario', scenario, ...args, ...TINY)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  return stdout
}

function bench(...args: string[]) {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', timeout: PATIENCE })
}

function refusal(args: string[]): string {
  const { status, stderr } = bench(...args)
  assert.equal(status, 1)
  return stderr
}
