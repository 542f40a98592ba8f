import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { assertLeadsAccepted } from '../service-programs.ts'
import { buildPackage } from './build-package.ts'
import { AuthenticationError, hash, Signalbox, UnprocessableEntityError } from './src/sdk.ts'

async function startClient(test: TestContext) {
  const service = await startTestService(test)
  const baseUrl = `${service.url}/api/v1`
  const client = new Signalbox({ token: service.tracker.trackerSecret, baseUrl })
  return { service, client, baseUrl }
}

const PURCHASE = {
  event_name: 'Purchase',
  consent_basis: 'consent',
  value_data: { value: '19.90', currency: 'EUR' },
} as const

it('creates, reads, lists and erases events of a service', async test => {
  const { service, client } = await startClient(test)
  const em = await hash.email('ada@example.com')
  const created = await client.events.create({
    ...PURCHASE,
    event_time: service.clock.now(),
    user_data: { em },
  })
  assert.equal(created.duplicate, false)
  assert.match(created.lastResponse.requestId ?? '', /^req_/)
  const again = await client.events.create({ ...PURCHASE, event_id: created.event_id })
  assert.equal(again.duplicate, true)
  const { event } = await client.events.get(created.event_id)
  assert.equal(event.value_amount, '19.90')
  for (let count = 0; count < 3; count += 1) await client.events.create(PURCHASE)
  const ids = []
  for await (const { id } of client.events.list({ per_page: 2 })) ids.push(id)
  assert.equal(new Set(ids).size, 4)
  const erased = await client.userData.delete({ identifier_hash: em ?? '' })
  assert.equal(erased.events_updated, 1)
})

it('calls every other operation of a service', async test => {
  const { service, client } = await startClient(test)
  assert.equal((await client.events.verify()).duplicate, false)
  assert.deepEqual((await client.deliveries.replay()).queued, 0)
  assert.ok(Array.isArray((await client.reports.matchQuality()).snapshots))
  const { date } = await client.reports.reconciliation({ date: '2026-11-20' })
  assert.equal(date, '2026-11-20')
  const { api_key: apiKey } = await client.sandbox.createKey()
  assert.equal((await client.sandbox.readKey()).production_access, false)
  assert.equal((await client.sandbox.discover()).environment, 'sandbox')
  const validated = await client.sandbox.validate({ event_name: 'Purchase' }, { apiKey })
  assert.equal(validated.accepted, true)
  const queue = client.queue()
  queue.add(PURCHASE)
  const { outcomes } = await queue.flush()
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['accepted'],
  )
  assert.ok(service.url)
})

it('throws typed errors of a service', async test => {
  const { client, baseUrl } = await startClient(test)
  const invalid = client.events.create({ ...PURCHASE, value_data: { value: '1' } })
  await assert.rejects(invalid, (error: unknown) => {
    assert.ok(error instanceof UnprocessableEntityError)
    assert.deepEqual(Object.keys(error.errors), ['value_data.currency'])
    return true
  })
  const stranger = new Signalbox({ token: 'sbx_sk_unknown', baseUrl })
  await assert.rejects(stranger.events.verify(), AuthenticationError)
})

it('runs every program of README.md in a project that npm init made', async test => {
  const { service, baseUrl } = await startClient(test)
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-readme-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const project = join(folder, 'shop')
  mkdirSync(project)
  const env = {
    ...process.env,
    SIGNALBOX_TOKEN: service.tracker.trackerSecret,
    SIGNALBOX_BASE_URL: baseUrl,
  }
  const run = async (program: string, ...parameters: string[]) =>
    (await promisify(execFile)(program, parameters, { cwd: project, env })).stdout
  buildPackage(join(folder, 'sdk'))
  await run('npm', 'pack', '--pack-destination', folder, join(folder, 'sdk'))
  await run('npm', 'init', '-y')
  const packed = join(folder, 'signalbox-sdk-0.5.0.tgz')
  await run('npm', 'install', '--offline', '--no-audit', '--no-fund', packed)

  const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
  const programs = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, program = '']) => program)
  assert.equal(programs.length, 5)
  // The service has its own clock, hours away from that of the program.
  const now = `new Date('${service.clock.now().toISOString()}')`
  const outputs: string[] = []
  for (const [at, program] of programs.entries()) {
    writeFileSync(join(project, `program-${at}.mjs`), program.replaceAll('new Date()', now))
    outputs.push(await run(process.execPath, `program-${at}.mjs`))
  }
  assert.match(outputs[0] ?? '', /^purchase-ts-1001 false req_/)
  assert.ok(outputs.every(output => output !== ''))
  await assertLeadsAccepted(service)
  const required = "console.log(typeof require('@signalbox/sdk').Signalbox)"
  assert.equal(await run(process.execPath, '--eval', required), 'function\n')
})
