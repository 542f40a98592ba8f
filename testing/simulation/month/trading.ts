import { hash } from 'node:crypto'
import { createSimulatorPlatforms } from '../../../service/signals/platforms/registry.ts'
import { scriptFaults, sendFromOtherSource } from '../../fixtures/simulator.ts'
import { bodyOf, type Departure, identifiersOn, type MonthEvent } from './events.ts'
import { advanceClockTo, type MonthSimulation, requireStatus } from './history.ts'
import { platformStateOf, type TradingHour } from './plan.ts'

const REQUESTS_AT_ONCE = 16
/** Much shorter than the slow platform's response time, and enough for a request to arrive. */
const SHORT_TIMEOUT_MILLISECONDS = 400
const REFUSED = { status: 400, code: 100, subcode: 2_804_048 }

/** Runs one trading hour: the shops sell, the service delivers, and some customers leave. */
export async function simulateTradingHour(
  simulation: MonthSimulation,
  tradingHour: TradingHour,
): Promise<void> {
  const { events, repeated, day } = tradingHour
  advanceClockTo(simulation, tradingHour.at)
  if (day.hasTests) await switchTestMode(simulation, tradingHour)
  await sendPixelEvents(simulation, events, 'before')
  for (const event of events) simulation.bodies.set(event, bodyOf(event, identifiersOn(day.number)))
  await runInBatches(events, event => submit(simulation, event))
  await runInBatches(repeated, event => submitAgain(simulation, event))
  await processDepartures(simulation, events, ['withdraws immediately'])
  await deliverWithFaults(simulation, tradingHour)
  await sendPixelEvents(simulation, events, 'after')
  await sendForeignEvents(simulation, tradingHour)
  await processDepartures(simulation, events, ['withdraws', 'is erased'])
}

async function switchTestMode(
  { service, shops: [shop] }: MonthSimulation,
  { isTest }: TradingHour,
) {
  const path = `/api/v1/destinations/${shop.destinationId}/test-mode`
  const body = isTest ? { enabled: true, test_event_code: 'TEST00005' } : { enabled: false }
  requireStatus(await service.request('PATCH', path, { secret: shop.trackerSecret, body }), 200)
}

async function submit(simulation: MonthSimulation, event: MonthEvent): Promise<void> {
  const { service, shops, bodies, erasedCustomers, events } = simulation
  const { shop, eventId, eventName, happensAt, purchase, repeat, departure, isRefused } = event
  const { trackerSecret: secret, datasetId } = shops[shop]
  const request = { secret, body: bodies.get(event) }
  const expected = repeat === 'immediately' ? [200, 202] : [202]
  const replies = await Promise.all(
    expected.map(() => service.request('POST', '/api/v1/events', request)),
  )
  const statuses = replies.map(({ status }) => status).sort()
  if (`${statuses}` !== `${expected}`) throw new Error(`${statuses}: ${replies[0]?.text}`)
  const submittedAt = service.clock.now()
  const isErased = shop === 0 && purchase !== null && erasedCustomers.has(purchase.customer)
  events.push({
    datasetId,
    eventId,
    eventName,
    happensAt,
    submittedAt,
    endsAt: isRefused || isErased ? submittedAt : null,
    isWithheld: isRefused || isErased || departure === 'withdraws immediately',
    dollars: purchase?.dollars ?? null,
  })
}

async function submitAgain({ service, shops, bodies }: MonthSimulation, event: MonthEvent) {
  const { trackerSecret: secret } = shops[event.shop]
  const body = bodies.get(event)
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 200)
}

/** Delivers what is due, with a short timeout while the platform is slow. */
async function deliverWithFaults(
  simulation: MonthSimulation,
  tradingHour: TradingHour,
): Promise<void> {
  const { simulatorUrl, delivery, deliver, clock } = simulation.service
  const { rules, isSlow } = platformStateOf(tradingHour)
  const refusals = tradingHour.events
    .filter(({ isRefused }) => isRefused)
    .map(({ eventId }) => ({ match: { event_id: eventId }, respond: REFUSED }))
  await scriptFaults(simulatorUrl, [...refusals, ...rules])
  const { platforms } = delivery
  if (isSlow) {
    delivery.platforms = createSimulatorPlatforms({
      simulatorUrl,
      timeoutMilliseconds: SHORT_TIMEOUT_MILLISECONDS,
      now: clock.now,
    })
  }
  await deliver()
  for (let index = 0; index < tradingHour.testPurchases; index += 1)
    await sendTestPurchase(simulation)
  delivery.platforms = platforms
  await scriptFaults(simulatorUrl, [])
}

/** A test purchase is attempted once and never retried. */
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

/** Events of other senders, and page views that only the Pixel reports. */
async function sendForeignEvents(
  simulation: MonthSimulation,
  { foreignEvents, pixelViews, at }: TradingHour,
): Promise<void> {
  const { service, shops } = simulation
  if (pixelViews > 0) {
    const events = [{ event_name: 'PageView', count: pixelViews }]
    await sendFromOtherSource(service, { source: 'browser', events })
  }
  if (foreignEvents.length === 0) return
  const events = foreignEvents.map(({ eventName, count }) => ({ event_name: eventName, count }))
  await sendFromOtherSource(service, { source: 'server', events })
  const { datasetId } = shops[0]
  simulation.foreignEvents.push(...foreignEvents.map(other => ({ ...other, datasetId, at })))
}

async function runInBatches<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> {
  for (let index = 0; index < items.length; index += REQUESTS_AT_ONCE) {
    await Promise.all(items.slice(index, index + REQUESTS_AT_ONCE).map(act))
  }
}

/** Customers of the first shop leave in one of these ways; nothing about them is sent any more. */
async function processDepartures(
  simulation: MonthSimulation,
  events: readonly MonthEvent[],
  ways: readonly Departure[],
): Promise<void> {
  for (const event of events.filter(
    ({ departure }) => departure !== null && ways.includes(departure),
  )) {
    await (event.departure === 'is erased' ? eraseCustomer : withdraw)(simulation, event)
  }
}

async function withdraw(simulation: MonthSimulation, { eventId }: MonthEvent): Promise<void> {
  const { service, shops } = simulation
  const body = {
    event_name: 'consent_withdrawal',
    visitor_id: `visitor-of-${eventId}`,
    consent_basis: 'legitimate_interest',
  }
  const { trackerSecret: secret } = shops[0]
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 202)
  markEventsEnded(simulation, id => id === eventId)
}

async function eraseCustomer(simulation: MonthSimulation, { purchase }: MonthEvent): Promise<void> {
  const { service, shops, bodies, erasedCustomers } = simulation
  const customer = purchase?.customer ?? ''
  const body = { identifier_hash: hash('sha256', customer), identifier_type: 'external_id' }
  const { trackerSecret: secret } = shops[0]
  requireStatus(await service.request('DELETE', '/api/v1/user-data', { secret, body }), 200)
  erasedCustomers.add(customer)
  const ofCustomer = [...bodies.keys()].filter(event => event.purchase?.customer === customer)
  const ids = new Set(ofCustomer.map(({ eventId }) => eventId))
  markEventsEnded(simulation, id => ids.has(id))
}

function markEventsEnded(
  { events, service }: MonthSimulation,
  isOfCustomer: (eventId: string) => boolean,
): void {
  for (const event of events.filter(({ eventId }) => isOfCustomer(eventId))) {
    event.endsAt ??= service.clock.now()
  }
}
