import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { checkResult, sumAmount } from '../../examples/cdnow/check-result.ts'
import { readPurchases } from '../../examples/cdnow/purchases.ts'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { openPython, readmePrograms, runPython } from './python-tools.ts'

const TIMEOUT = { timeout: 600_000 }
const SAMPLE = join(import.meta.dirname, '../../examples/cdnow/CDNOW_sample.txt')
/** The complete sample in a full run. */
const LINES = isShortRun() ? 100 : Number.POSITIVE_INFINITY

async function startService(test: TestContext) {
  const service = await startTestService(test)
  const environment = {
    SIGNALBOX_TOKEN: service.tracker.trackerSecret,
    SIGNALBOX_BASE_URL: `${service.url}/api/v1`,
    SIGNALBOX_TEST_NOW: service.clock.now().toISOString(),
    SIGNALBOX_TEST_DESTINATION: service.tracker.destinationId,
  }
  return { service, environment }
}

/** Delivers while a program runs, as the worker of an installation does. */
async function deliverDuring<Value>(service: TestService, running: Promise<Value>): Promise<Value> {
  let isRunning = true
  const delivering = (async () => {
    while (isRunning) {
      await service.deliver()
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  })()
  try {
    return await running
  } finally {
    isRunning = false
    await delivering
  }
}

it('every operation and example works with a service', TIMEOUT, async test => {
  const python = openPython(test)
  if (python === null) return
  const { service, environment } = await startService(test)
  const tests = runPython(python, ['-m', 'pytest', 'tests/service', '-rs'], { environment })
  const output = await deliverDuring(service, tests)
  assert.match(output, /^\d+ passed in/m)
  assert.doesNotMatch(output, /skipped/)
})

it('runs every program of README.md', TIMEOUT, async test => {
  const python = openPython(test)
  if (python === null) return
  const { service, environment } = await startService(test)
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-python-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const programs = readmePrograms()
  assert.equal(programs.length, 5)
  // The service has its own clock, hours away from that of the program.
  const now = `datetime.fromisoformat("${service.clock.now().toISOString()}").astimezone(UTC)`
  for (const [at, program] of programs.entries()) {
    const path = join(folder, `program_${at}.py`)
    writeFileSync(path, program.replaceAll('datetime.now(UTC)', now))
    assert.notEqual(await runPython(python, [path], { environment }), '')
  }
})

it('sends the purchases of a shop, equal to the cent', TIMEOUT, async test => {
  const python = openPython(test)
  if (python === null) return
  const { service, environment } = await startService(test)
  const purchases = readPurchases(SAMPLE).slice(0, LINES)
  const options = ['--first', String(purchases.length), '--now', environment.SIGNALBOX_TEST_NOW]
  const run = async () =>
    JSON.parse(await runPython(python, ['examples/cdnow.py', SAMPLE, ...options], { environment }))
  const { cents } = sumAmount(purchases.map(({ dollars }) => dollars))
  const count = purchases.length
  const dollars = `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`
  assert.deepEqual(await run(), { purchases: count, dollars, accepted: count })
  assert.deepEqual(await run(), { purchases: count, dollars, duplicate: count })

  while ((await service.deliver()) > 0);
  const { stored, received, differences } = await checkResult(purchases, {
    credentials: {
      base_url: environment.SIGNALBOX_BASE_URL,
      tracker_secret: environment.SIGNALBOX_TOKEN,
      simulator_url: service.simulatorUrl,
    },
    inFlightMax: 8,
    waitSecondsMax: 60,
    progress: { step() {} },
  })
  assert.deepEqual(differences, [])
  assert.deepEqual(
    [stored, received],
    [
      { count, cents },
      { count, cents },
    ],
  )
})
