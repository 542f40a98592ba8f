// Full run only: a whole service; go-module.test.ts is in every run.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import {
  assertLeadsAccepted,
  checkSampleProgram,
  deliverDuring,
  type ProgramService,
  startProgramService,
} from '../service-programs.ts'
import {
  GO_MILLISECONDS_MAX,
  GO_TEST,
  type Go,
  MODULE,
  openGo,
  temporaryFolder,
  writeModule,
} from './testing/run-go.ts'

const TIMEOUT = { timeout: GO_MILLISECONDS_MAX }

interface Suite {
  tests: readonly string[]
  folder?: string
}

const SUITES: (Suite & { title: string })[] = [
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

for (const { title, ...suite } of SUITES) {
  it(title, TIMEOUT, async test => {
    const go = openGo(test)
    if (!go) return
    await runSuite(go, await startProgramService(test), suite)
  })
}

it('replays what the platform refused, once', TIMEOUT, async test => {
  const go = openGo(test)
  if (!go) return
  const started = await startProgramService(test)
  const { service } = started
  const respond = { status: 400, code: 100, subcode: 2_804_048 }
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond }])
  await runSuite(go, started, { tests: ['TestServiceReplay'] })
  assert.equal((await service.received()).count, 1)
})

async function runSuite(
  go: Go,
  { service, environment }: ProgramService,
  { tests, folder = '.' }: Suite,
): Promise<void> {
  const run = ['test', ...GO_TEST, '-v', '-run', `^(${tests.join('|')})$`, `./${folder}`]
  const { code, output } = await deliverDuring(service, go.run(run, { environment }))
  assert.equal(code, 0, output)
  for (const name of tests) assert.match(output, new RegExp(`^--- PASS: ${name} `, 'm'))
}

it('runs every program of README.md, each in an empty module', TIMEOUT, async test => {
  const go = openGo(test)
  if (!go) return
  const { service, environment } = await startProgramService(test)
  const folder = temporaryFolder(test)
  const readme = readFileSync(join(MODULE, 'README.md'), 'utf8')
  const programs = [...readme.matchAll(/```go\n(.*?)```/gs)].map(([, program = '']) => program)
  assert.equal(programs.length, 5)
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
  assert.equal((await service.read('purchase-go-1001')).body.event.value_amount, 19.9)
  await assertLeadsAccepted(service)
})

it('sends the CDNOW sample, equal to the cent and once', TIMEOUT, async test => {
  const go = openGo(test)
  if (!go) return
  const started = await startProgramService(test)
  const { environment } = started
  await checkSampleProgram(started, async (sample, lines) => {
    const options = ['-first', lines, '-now', environment.SIGNALBOX_TEST_NOW]
    const program = ['run', './examples/cdnow', ...options, sample]
    const { stdout, output } = await go.run(program, { environment })
    assert.match(output, /^\{.*\}\n$/)
    return JSON.parse(stdout)
  })
})
