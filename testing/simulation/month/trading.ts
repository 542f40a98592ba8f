import { hash } from 'node:crypto'
import { createPlatforms } from '../../../service/platforms/registry.ts'
import { scriptFaults, sendFromOtherSource } from '../../fixtures/simulator.ts'
import { bodyOf, type Departure, identifiersOn, type MonthEvent } from './events.ts'
import { advanceClockTo, type MonthSimulation, requireStatus } from './history.ts'
import { platformStateOf, type TradingHour } from './plan.ts'

const REQUESTS_AT_ONCE = 16
/** Much less than what a platform takes that is too slow, and enough for a request to arrive. */
const SHORT_TIMEOUT_MILLISECONDS = 400
const REFUSED = { status: 400, code: 100, subcode: 2_804_048 }

/** Plays one hour of trade: the shops sell, the service delivers, and some customers leave. */
export async function simulateTradingHour(
  stage: MonthSimulation,
  trade: TradingHour,
): Promise<void> {
  const { events, repeated, day } = trade
  advanceClockTo(stage, trade.at)
  if (day.hasTests) await switchTestMode(stage, trade)
  await sendPixelEvents(stage, events, 'before')
  for (const event of events) stage.bodies.set(event, bodyOf(event, identifiersOn(day.number)))
  await runInBatches(events, event => submit(stage, event))
  await runInBatches(repeated, event => submitAgain(stage, event))
  await processDepartures(stage, events, ['withdraws at once'])
  await deliverWithFaults(stage, trade)
  await sendPixelEvents(stage, events, 'after')
  await sendForeignEvents(stage, trade)
  await processDepartures(stage, events, ['withdraws', 'is forgotten'])
}

async function switchTestMode(
  { service, shops: [shop] }: MonthSimulation,
  { isTest }: TradingHour,
) {
  const path = `/api/v1/destinations/${shop.destinationId}/test-mode`
  const body = isTest ? { enabled: true, test_event_code: 'TEST00005' } : { enabled: false }
  requireStatus(await service.request('PATCH', path, { secret: shop.trackerSecret, body }), 200)
}

async function submit(stage: MonthSimulation, event: MonthEvent): Promise<void> {
  const { service, shops, bodies, erasedCustomers: forgotten, events } = stage
  const {
    shop,
    eventId,
    eventName,
    happensAt,
    purchase,
    repeat,
    departure: leaving,
    isRefused,
  } = event
  const { trackerSecret: secret, datasetId } = shops[shop]
  const request = { secret, body: bodies.get(event) }
  const expected = repeat === 'at once' ? [200, 202] : [202]
  const replies = await Promise.all(
    expected.map(() => service.request('POST', '/api/v1/events', request)),
  )
  const statuses = replies.map(({ status }) => status).sort()
  if (`${statuses}` !== `${expected}`) throw new Error(`${statuses}: ${replies[0]?.text}`)
  const submittedAt = service.clock.now()
  const isForgotten = shop === 0 && purchase !== null && forgotten.has(purchase.customer)
  events.push({
    datasetId,
    eventId,
    eventName,
    happensAt,
    submittedAt,
    endsAt: isRefused || isForgotten ? submittedAt : null,
    isWithheld: isRefused || isForgotten || leaving === 'withdraws at once',
    dollars: purchase?.dollars ?? null,
  })
}

async function submitAgain({ service, shops, bodies }: MonthSimulation, event: MonthEvent) {
  const { trackerSecret: secret } = shops[event.shop]
  const body = bodies.get(event)
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 200)
}

/** Sends what is due. A platform that is too slow is not waited for as long as a real one. */
async function deliverWithFaults(stage: MonthSimulation, trade: TradingHour): Promise<void> {
  const { simulatorUrl, delivery, deliver, clock } = stage.service
  const { rules, isSlow } = platformStateOf(trade)
  const refusals = trade.events
    .filter(({ isRefused }) => isRefused)
    .map(({ eventId }) => ({ match: { event_id: eventId }, respond: REFUSED }))
  await scriptFaults(simulatorUrl, [...refusals, ...rules])
  const { platforms } = delivery
  if (isSlow) {
    delivery.platforms = createPlatforms({
      baseUrl: simulatorUrl,
      version: 'v26.0',
      timeoutMilliseconds: SHORT_TIMEOUT_MILLISECONDS,
      now: clock.now,
    })
  }
  await deliver()
  for (let index = 0; index < trade.testPurchases; index += 1) await sendTestPurchase(stage)
  delivery.platforms = platforms
  await scriptFaults(simulatorUrl, [])
}

/** Tried once: what the platform does not accept at this moment never goes out again. */
async function sendTestPurchase({
  service,
  shops: [shop],
  events,
}: MonthSimulation): Promise<void> {
  const { trackerSecret: secret, destinationId, datasetId } = shop
  const path = `/api/v1/destinations/${destinationId}/test-purchase`
  const reply = await service.request('POST', path, { secret })
  requireStatus(reply, 200, 502)
  const at = service.clock.now()
  events.push({
    datasetId,
    eventId: reply.body.event_id,
    eventName: 'Purchase',
    happensAt: at,
    submittedAt: at,
    endsAt: at,
    isWithheld: false,
    dollars: null,
  })
}

async function sendPixelEvents(
  { service, pixelAt }: MonthSimulation,
  all: readonly MonthEvent[],
  when: MonthEvent['pixel'],
): Promise<void> {
  const events = all.filter(({ pixel }) => pixel === when)
  if (events.length === 0) return
  await sendFromOtherSource(service, {
    source: 'browser',
    events: events.map(({ eventId, eventName, happensAt }) => ({
      event_id: eventId,
      event_name: eventName,
      event_time: happensAt.getTime() / 1_000,
    })),
  })
  for (const { eventId } of events) pixelAt.set(eventId, service.clock.now())
}

/** What nobody of us sent, and page views that only the Pixel saw. */
async function sendForeignEvents(
  stage: MonthSimulation,
  { foreignEvents: others, pixelViews, at }: TradingHour,
): Promise<void> {
  const { service, shops } = stage
  if (pixelViews > 0) {
    const events = [{ event_name: 'PageView', count: pixelViews }]
    await sendFromOtherSource(service, { source: 'browser', events })
  }
  if (others.length === 0) return
  const events = others.map(({ eventName, count }) => ({ event_name: eventName, count }))
  await sendFromOtherSource(service, { source: 'server', events })
  const { datasetId } = shops[0]
  stage.foreignEvents.push(...others.map(other => ({ ...other, datasetId, at })))
}

async function runInBatches<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> {
  for (let index = 0; index < items.length; index += REQUESTS_AT_ONCE) {
    await Promise.all(items.slice(index, index + REQUESTS_AT_ONCE).map(act))
  }
}

/** Customers of the first shop leave in one of these ways: nothing of theirs is sent any more. */
async function processDepartures(
  stage: MonthSimulation,
  events: readonly MonthEvent[],
  ways: readonly Departure[],
): Promise<void> {
  for (const event of events.filter(
    ({ departure: leaving }) => leaving !== null && ways.includes(leaving),
  )) {
    await (event.departure === 'is forgotten' ? eraseCustomer : withdraw)(stage, event)
  }
}

async function withdraw(stage: MonthSimulation, { eventId }: MonthEvent): Promise<void> {
  const { service, shops } = stage
  const body = {
    event_name: 'consent_withdrawal',
    visitor_id: `visitor-of-${eventId}`,
    consent_basis: 'legitimate_interest',
  }
  const { trackerSecret: secret } = shops[0]
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 202)
  markEventsEnded(stage, id => id === eventId)
}

async function eraseCustomer(stage: MonthSimulation, { purchase }: MonthEvent): Promise<void> {
  const { service, shops, bodies, erasedCustomers: forgotten } = stage
  const customer = purchase?.customer ?? ''
  const body = { identifier_hash: hash('sha256', customer), identifier_type: 'external_id' }
  const { trackerSecret: secret } = shops[0]
  requireStatus(await service.request('DELETE', '/api/v1/user-data', { secret, body }), 200)
  forgotten.add(customer)
  const theirs = [...bodies.keys()].filter(event => event.purchase?.customer === customer)
  const ids = new Set(theirs.map(({ eventId }) => eventId))
  markEventsEnded(stage, id => ids.has(id))
}

function markEventsEnded(
  { events, service }: MonthSimulation,
  isTheirs: (eventId: string) => boolean,
): void {
  for (const event of events.filter(({ eventId }) => isTheirs(eventId))) {
    event.endsAt ??= service.clock.now()
  }
}
