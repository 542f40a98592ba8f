import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createCircuitWorker, expireLeases } from '../../../testing/fixtures/deliveries.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  findPlatformTarget,
  restoreTokens,
  revokeToken,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'
import { claimDeliveries } from './claim-store.ts'

const UNAVAILABLE = { respond: { status: 503, code: 2, message: 'Service unavailable' } }

async function explanationOf(service: TestService, eventId = 'order-1001'): Promise<string> {
  return (await service.read(eventId)).body.deliveries[0].explanation
}

/** Claims what is due and sends nothing, like a worker that is killed. */
async function claimAndDie({ database, clock, tracker }: TestService): Promise<void> {
  const claim = {
    queue: { ...tracker, isProbe: false },
    limit: 10,
    claimedAt: clock.now(),
    leaseSeconds: 60,
  }
  assert.notEqual((await claimDeliveries(database, claim)).deliveries.length, 0)
}

async function pauseDestination(service: TestService): Promise<void> {
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  await service.submit(samplePurchase({ event_id: 'refused' }))
  await service.deliver()
}

async function withRetry(test: TestContext): Promise<TestService> {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, ...UNAVAILABLE }])
  await service.submit(samplePurchase())
  await service.deliver()
  return service
}

it('names the pause of a destination for a retry, and no time that is past', async test => {
  const service = await withRetry(test)
  await pauseDestination(service)
  const reason = /The platform rejects the credential .+?\.\)/
  const next = ' It is sent as soon as the destination works again; no attempt is used up.'
  const early = await explanationOf(service)
  const [paused] = reason.exec(early) ?? []
  assert.equal(
    early,
    'The first attempt failed. Code 2: Service unavailable. Waiting: the destination is paused ' +
      `(${paused}${next} It is not sent before 2026-11-21T12:00:05.000Z. One event tries it at ` +
      '2026-11-21T12:01:00.000Z. The platform accepts the event until 2026-11-28T12:00:00.000Z.',
  )
  service.clock.advance(3_600)
  assert.equal(
    await explanationOf(service),
    'The first attempt failed. Code 2: Service unavailable. Waiting: the destination is paused ' +
      `(${paused}${next} The platform accepts the event until 2026-11-28T12:00:00.000Z.`,
  )
})

it('says that an event became too old while its destination was paused', async test => {
  const service = await withRetry(test)
  await pauseDestination(service)
  await service.submit(samplePurchase({ event_id: 'untried' }))
  service.clock.advance(7 * 86_400 - 61)
  assert.match(await explanationOf(service, 'untried'), /^Waiting: the destination is paused/)
  service.clock.advance(1)
  assert.equal(
    await explanationOf(service, 'untried'),
    'It will not be sent: the event of 2026-11-21T12:00:00.000Z is older than the platform ' +
      'accepts. Its final status follows when a worker reaches it.',
  )
  assert.match(await explanationOf(service), /Service unavailable\. It will not be sent again: /)
  await restoreTokens(service.simulatorUrl)
  await service.deliver()
  assert.match(await explanationOf(service, 'untried'), /^Not sent: .+ older than the platform/)
  assert.match(
    await explanationOf(service),
    /^Given up after 1 attempt: another one would come too/,
  )
})

it('names an open circuit for new deliveries and for retries until a request succeeds', async test => {
  const service = await startTestService(test)
  const work = createCircuitWorker(service)
  await scriptFaults(service.simulatorUrl, [UNAVAILABLE])
  await service.submit(samplePurchase())
  for (const seconds of [0, 5, 30]) {
    service.clock.advance(seconds)
    await work()
  }
  await service.submit(samplePurchase({ event_id: 'new' }))
  const outage = 'the platform has given no usable answer since 2026-11-21T12:00:35.000Z'
  assert.equal(
    await explanationOf(service, 'new'),
    `Waiting: ${outage}, and the next request tries it after 2026-11-21T12:00:39.000Z; no attempt ` +
      'is used up before.',
  )
  assert.equal(
    await explanationOf(service),
    'The last of 3 attempts failed. Code 2: Service unavailable. It is tried again at ' +
      `2026-11-21T12:02:35.000Z. T${outage.slice(1)}, and the next request tries it after ` +
      '2026-11-21T12:00:39.000Z; no attempt is used up before.',
  )
  service.clock.advance(4)
  assert.equal(
    await explanationOf(service, 'new'),
    `Waiting: ${outage}; single requests with a few events try it until one succeeds.`,
  )
  service.clock.advance(180)
  const retry = await explanationOf(service)
  assert.doesNotMatch(retry, /12:02:35/, 'a time that is past')
  assert.ok(
    retry.endsWith(
      `Waiting: ${outage}; single requests with a few events try it until one succeeds.`,
    ),
  )
  await scriptFaults(service.simulatorUrl, [{ match: { event_id: 'new' }, ...UNAVAILABLE }])
  await service.submit(samplePurchase({ event_id: 'later' }))
  await work()
  assert.match(await explanationOf(service), /no usable answer since 2026-11-21T12:00:35/)
  await scriptFaults(service.simulatorUrl, [])
  service.clock.advance(20)
  await work()
  await service.submit(samplePurchase({ event_id: 'afterwards' }))
  assert.match(
    await explanationOf(service, 'afterwards'),
    /^Waiting to be sent with the next batch/,
  )
})

it('names the pause that the platform asked for, and nothing of it when it is over', async test => {
  const service = await startTestService(test)
  const work = createCircuitWorker(service)
  await scriptFaults(service.simulatorUrl, [
    { times: 1, respond: { status: 429, body: '', headers: { 'retry-after': '120' } } },
  ])
  await service.submit(samplePurchase())
  await work()
  await service.submit(samplePurchase({ event_id: 'new' }))
  assert.equal(
    await explanationOf(service, 'new'),
    'Waiting: the platform asked for a pause until 2026-11-21T12:02:00.000Z; no attempt is used up.',
  )
  assert.match(await explanationOf(service), /It is tried again at 2026-11-21T12:02:00\.000Z\.$/)
  service.clock.advance(120)
  assert.match(await explanationOf(service, 'new'), /^Waiting to be sent with the next batch/)
  assert.match(
    await explanationOf(service),
    /It was due at 2026-11-21T12:02:00\.000Z and is tried again with the next batch\.$/,
  )
})

it('says after a lost worker that the platform may have the event, also when it is accepted', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await claimAndDie(service)
  assert.equal(
    await explanationOf(service),
    'Being sent to the platform; its answer is not known yet.',
  )
  await expireLeases(service.database)
  const repeat =
    'One attempt ended without a known answer, so the platform may have it, and ignores a repeat ' +
    'of its ID within 48 hours.'
  assert.equal(
    await explanationOf(service),
    'A worker began to send it at 2026-11-21T12:00:00.000Z and was lost before it recorded an ' +
      `answer. Another worker sends it again with the next batch. ${repeat}`,
  )
  await scriptFaults(service.simulatorUrl, [{ times: 1, ...UNAVAILABLE }])
  await service.deliver()
  assert.ok((await explanationOf(service)).endsWith(repeat))
  service.clock.advance(30)
  await service.deliver()
  const { explanation, platform_trace_id } = (await service.read('order-1001')).body.deliveries[0]
  assert.equal(
    explanation,
    `The platform accepted the event with 3 attempts (trace ${platform_trace_id}). Nothing more ` +
      'happens. One attempt ended without a known answer, so the platform may have it more than ' +
      'once, and ignores a repeat of its ID within 48 hours.',
  )
})

it('does not count refusals of the destination as attempts with an unknown answer', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await pauseDestination(service)
  await restoreTokens(service.simulatorUrl)
  service.clock.advance(60)
  await service.deliver()
  const explanation = await explanationOf(service)
  assert.match(explanation, /^The platform accepted the event with the first attempt \(trace/)
  assert.match(explanation, /Nothing more happens\.$/)
})

it('does not say "not sent" of an event that the platform may have when consent is withdrawn', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
  await service.submit(samplePurchase({ visitor_id: 'visitor-1' }))
  await service.deliver()
  assert.match(
    await explanationOf(service),
    /It is tried again at 2026-11-21T12:00:05\.000Z, or as soon as the platform answers again\./,
  )
  const withdrawal = { event_name: 'consent_withdrawal', consent_basis: 'legitimate_interest' }
  await service.submit({ ...withdrawal, visitor_id: 'visitor-1' })
  const explanation = await explanationOf(service)
  assert.match(explanation, /^Not sent again after one attempt: the visitor withdrew consent/)
  assert.match(
    explanation,
    /One attempt ended without a known answer, so the platform may have received the event\.$/,
  )
})

it('says when the clock was set back and deliveries wait for it', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  service.clock.rewind(600)
  assert.equal(await service.deliver(), 0)
  assert.equal(
    await explanationOf(service),
    'It is sent after 2026-11-21T12:00:00.000Z. It waits because of a clock that was set back or ' +
      'runs ahead: the delivery was last changed 600 seconds after the present time of this server.',
  )
  service.clock.advance(600)
  await claimAndDie(service)
  await expireLeases(service.database)
  service.clock.rewind(600)
  assert.match(
    await explanationOf(service),
    /^A worker began to send it at 2026-11-21T12:00:00\.000Z and was lost .+ a clock was set back\./,
  )
  const { pool } = service.database
  await pool.query(
    `update delivery_queue set leased_until = statement_timestamp() + interval '1 day'`,
  )
  assert.match(
    await explanationOf(service),
    /No other worker may send it for 86\d\d\d seconds, .+ the clock of the database was set back\.$/,
  )
})

it('says that a test event will fail while its destination has no code', async test => {
  const service = await startTestService(test)
  const { destinationId } = service.tracker
  const path = `/api/v1/destinations/${destinationId}/test-mode`
  await service.request('PATCH', path, { body: { enabled: true } })
  await service.submit(samplePurchase())
  assert.match(await explanationOf(service), /^Waiting to be sent with the next batch/)
  await service.database.pool.query('update destinations set test_event_code = null')
  assert.match(await explanationOf(service), /^It will not be sent unless the destination gets a/)
  await service.deliver()
  assert.match(
    await explanationOf(service),
    /^Not sent: it is a test event and the destination had/,
  )
})

it('gives up before the window ends, and says when it ends', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [UNAVAILABLE])
  await service.submit(samplePurchase({ event_time: '2026-11-14T12:01:30Z' }))
  await service.deliver()
  service.clock.advance(5)
  await service.deliver()
  service.clock.advance(30)
  await service.deliver()
  assert.equal(
    await explanationOf(service),
    'Given up after 2 attempts: another one would come too late, because the platform stops ' +
      'accepting the event at 2026-11-21T12:01:30.000Z. Code 2: Service unavailable.',
  )
  service.clock.advance(55)
  assert.equal(
    await explanationOf(service),
    'Given up after 2 attempts: the platform no longer accepts the event. Code 2: Service ' +
      'unavailable.',
  )
})
