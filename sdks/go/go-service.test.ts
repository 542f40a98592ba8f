import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { checkResult, sumAmount } from '../../examples/cdnow/check-result.ts'
import { readPurchases } from '../../examples/cdnow/purchases.ts'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import {
  GO_MILLISECONDS_MAX,
  GO_TEST,
  MODULE,
  openGo,
  temporaryFolder,
  writeModule,
} from './testing/run-go.ts'

const TIMEOUT = { timeout: GO_MILLISECONDS_MAX }
const SAMPLE = join(MODULE, '../../examples/cdnow/CDNOW_sample.txt')
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

const SUITES: { title: string; tests: string[]; folder?: string }[] = [
  { title: 'creates, waits for, lists, queues and erases events', tests: ['TestServiceEvents'] },
  {
    title: 'calls the other operations',
    tests: ['TestServiceOperations', 'TestServiceSandbox', 'TestServiceErrors'],
  },
  {
    title: 'takes orders with net/http, and finishes them at a signal',
    tests: ['TestOrders'],
    folder: 'examples/nethttp',
  },
]

for (const { title, tests, folder = '.' } of SUITES) {
  it(title, TIMEOUT, async test => {
    const go = openGo(test)
    if (!go) return
    const { service, environment } = await startService(test)
    const run = ['test', ...GO_TEST, '-v', '-run', `^(${tests.join('|')})$`, `./${folder}`]
    const { code, output } = await deliverDuring(service, go.run(run, { environment }))
    assert.equal(code, 0, output)
    for (const name of tests) assert.match(output, new RegExp(`^--- PASS: ${name} `, 'm'))
  })
}

it('replays what the platform refused, once', TIMEOUT, async test => {
  const go = openGo(test)
  if (!go) return
  const { service, environment } = await startService(test)
  const respond = { status: 400, code: 100, subcode: 2_804_048 }
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond }])
  const run = go.run(['test', ...GO_TEST, '-v', '-run', '^TestServiceReplay$', '.'], {
    environment,
  })
  const { code, output } = await deliverDuring(service, run)
  assert.equal(code, 0, output)
  assert.match(output, /^--- PASS: TestServiceReplay /m)
  assert.equal((await service.received()).count, 1)
})

it('runs every program of README.md, each in an empty module', TIMEOUT, async test => {
  const go = openGo(test)
  if (!go) return
  const { service, environment } = await startService(test)
  const folder = temporaryFolder(test)
  const readme = readFileSync(join(MODULE, 'README.md'), 'utf8')
  const programs = [...readme.matchAll(/```go\n(.*?)```/gs)].map(([, program = '']) => program)
  assert.equal(programs.length, 4)
  // The service has its own clock, hours away from that of the program.
  const now = `time.UnixMilli(${service.clock.now().getTime()})`
  for (const [at, program] of programs.entries()) {
    const module = join(folder, String(at))
    writeModule(module, program.replaceAll('time.Now()', now))
    const { code, stdout, output } = await go.run(['run', '.'], { folder: module, environment })
    assert.equal(code, 0, output)
    assert.notEqual(stdout, '')
    assert.equal(output, stdout)
  }
  assert.equal((await service.read('order-1001')).body.event.value_amount, 19.9)
})

it('sends the CDNOW sample, equal to the cent and once', TIMEOUT, async test => {
  const go = openGo(test)
  if (!go) return
  const { service, environment } = await startService(test)
  const purchases = readPurchases(SAMPLE).slice(0, LINES)
  const options = ['-first', String(purchases.length), '-now', environment.SIGNALBOX_TEST_NOW]
  const send = async () => {
    const { stdout, output } = await go.run(['run', './examples/cdnow', ...options, SAMPLE], {
      environment,
    })
    assert.match(output, /^\{.*\}\n$/)
    return JSON.parse(stdout)
  }
  const { cents } = sumAmount(purchases.map(({ dollars }) => dollars))
  const count = purchases.length
  const dollars = `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`
  assert.deepEqual(await send(), { purchases: count, dollars, accepted: count })
  assert.deepEqual(await send(), { purchases: count, dollars, duplicate: count })

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
  assert.deepEqual({ stored, received }, { stored: { count, cents }, received: { count, cents } })
})
