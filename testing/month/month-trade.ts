import { createPlatforms } from '../../service/platforms/registry.ts'
import { sendAsOthers } from '../platform-counts.ts'
import { scriptFaults } from '../simulator-controls.ts'
import { bodyOf, identityOn, type MonthEvent } from './month-events.ts'
import { leaveMonth } from './month-leaving.ts'
import { type Trade, weatherOf } from './month-plan.ts'
import { goTo, type MonthStage, requireStatus } from './month-stage.ts'

const REQUESTS_AT_ONCE = 16
/** Much less than what a platform takes that is too slow, and enough for a request to arrive. */
const HASTY_MILLISECONDS = 400
const REFUSED = { status: 400, code: 100, subcode: 2_804_048 }

/** Plays one hour of trade: the shops sell, the service delivers, and some customers leave. */
export async function playTrade(stage: MonthStage, trade: Trade): Promise<void> {
  const { events, repeated, day } = trade
  goTo(stage, trade.at)
  if (day.hasTests) await switchTestMode(stage, trade)
  await tellPixel(stage, events, 'before')
  for (const event of events) stage.bodies.set(event, bodyOf(event, identityOn(day.number)))
  await inParts(events, event => submit(stage, event))
  await inParts(repeated, event => submitAgain(stage, event))
  await leaveMonth(stage, events, ['withdraws at once'])
  await deliverInWeather(stage, trade)
  await tellPixel(stage, events, 'after')
  await tellOthers(stage, trade)
  await leaveMonth(stage, events, ['withdraws', 'is forgotten'])
}

async function switchTestMode({ service, shops: [shop] }: MonthStage, { isTest }: Trade) {
  const path = `/api/v1/destinations/${shop.destinationId}/test-mode`
  const body = isTest ? { enabled: true, test_event_code: 'TEST00005' } : { enabled: false }
  requireStatus(await service.request('PATCH', path, { secret: shop.trackerSecret, body }), 200)
}

async function submit(stage: MonthStage, event: MonthEvent): Promise<void> {
  const { service, shops, bodies, forgotten, events } = stage
  const { shop, eventId, eventName, happensAt, purchase, repeat, leaving, isRefused } = event
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

async function submitAgain({ service, shops, bodies }: MonthStage, event: MonthEvent) {
  const { trackerSecret: secret } = shops[event.shop]
  const body = bodies.get(event)
  requireStatus(await service.request('POST', '/api/v1/events', { secret, body }), 200)
}

/** Sends what is due. A platform that is too slow is not waited for as long as a real one. */
async function deliverInWeather(stage: MonthStage, trade: Trade): Promise<void> {
  const { simulatorUrl, delivery, deliver, clock } = stage.service
  const { rules, isSlow } = weatherOf(trade)
  const refusals = trade.events
    .filter(({ isRefused }) => isRefused)
    .map(({ eventId }) => ({ match: { event_id: eventId }, respond: REFUSED }))
  await scriptFaults(simulatorUrl, [...refusals, ...rules])
  const { platforms } = delivery
  if (isSlow) {
    delivery.platforms = createPlatforms({
      baseUrl: simulatorUrl,
      version: 'v26.0',
      timeoutMilliseconds: HASTY_MILLISECONDS,
      now: clock.now,
    })
  }
  await deliver()
  for (let index = 0; index < trade.testPurchases; index += 1) await buyTest(stage)
  delivery.platforms = platforms
  await scriptFaults(simulatorUrl, [])
}

/** Tried once: what the platform does not accept at this moment never goes out again. */
async function buyTest({ service, shops: [shop], events }: MonthStage): Promise<void> {
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

async function tellPixel(
  { service, pixelAt }: MonthStage,
  all: readonly MonthEvent[],
  when: MonthEvent['pixel'],
): Promise<void> {
  const events = all.filter(({ pixel }) => pixel === when)
  if (events.length === 0) return
  await sendAsOthers(service, {
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
async function tellOthers(stage: MonthStage, { others, pixelViews, at }: Trade): Promise<void> {
  const { service, shops } = stage
  if (pixelViews > 0) {
    const events = [{ event_name: 'PageView', count: pixelViews }]
    await sendAsOthers(service, { source: 'browser', events })
  }
  if (others.length === 0) return
  const events = others.map(({ eventName, count }) => ({ event_name: eventName, count }))
  await sendAsOthers(service, { source: 'server', events })
  const { datasetId } = shops[0]
  stage.others.push(...others.map(other => ({ ...other, datasetId, at })))
}

async function inParts<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> {
  for (let index = 0; index < items.length; index += REQUESTS_AT_ONCE) {
    await Promise.all(items.slice(index, index + REQUESTS_AT_ONCE).map(act))
  }
}
