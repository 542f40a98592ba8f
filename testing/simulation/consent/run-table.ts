import { hash } from 'node:crypto'
import type { TestContext } from 'node:test'
import { SHOP_ORIGIN } from '../../fixtures/sample-events.ts'
import { createSeededRandom, type SeededRandom } from '../../fixtures/seeded-random.ts'
import { startTestService, type TestService } from '../../fixtures/service.ts'
import { connectSimulated } from '../../fixtures/two-platforms.ts'
import { ANSWERS, type Form, PLATFORMS, pickForm } from './consent-facts.ts'
import { Oracle, PAGE_HOLD_SECONDS, type SentEvent, type Withdrawal } from './oracle.ts'
import { createPerson, identify, isRandomVisitor, type Person } from './people.ts'

export const CONVERSION_ACTIONS: Record<string, string> = { Purchase: '456', Lead: '789' }

export interface TableResult {
  service: TestService
  oracle: Oracle
  events: number
  refused: number
  withdrawals: number
  /** One sentence for each answer that the oracle did not expect. */
  surprises: string[]
}

interface TableOptions {
  seed: number
  events: number
}

const EVENT_NAMES = ['Purchase', 'Lead', 'PageView'] as const
const BATCH_EVENTS = 50
const IN_FLIGHT = 10
const PHASE_SECONDS = 600

/** Sends a table of events and withdrawals to a service with Meta, Google Ads and a webhook. */
export async function runTable(
  test: TestContext,
  { seed, events: count }: TableOptions,
): Promise<TableResult> {
  const service = await startTestService(test)
  await connectSimulated(service, 'google_ads', {
    routing: { event_names: CONVERSION_ACTIONS },
  })
  await connectSimulated(service, 'webhook')
  const random = createSeededRandom(seed)
  const people = Array.from({ length: Math.ceil(count / 6) }, (_, n) => createPerson(random, n + 1))
  const table = new Table(service, random, people)
  await table.sendFirstEvents()
  for (let sent = 0; sent < count; sent += BATCH_EVENTS) {
    await table.sendEvents(Math.min(BATCH_EVENTS, count - sent))
    for (let n = random.integer(0, 8); n > 0; n -= 1) await table.withdraw()
    if (random.random() < 0.5) await table.deliver()
    service.clock.advance(PHASE_SECONDS)
  }
  service.clock.advance(PAGE_HOLD_SECONDS)
  await table.deliver()
  return { service, ...table.result }
}

class Table {
  readonly result = {
    oracle: new Oracle(),
    events: 0,
    refused: 0,
    withdrawals: 0,
    surprises: [] as string[],
  }
  readonly #service: TestService
  readonly #random: SeededRandom
  readonly #people: readonly Person[]
  readonly #withdrawn = new Set<Person>()

  constructor(service: TestService, random: SeededRandom, people: readonly Person[]) {
    this.#service = service
    this.#random = random
    this.#people = people
  }

  async sendEvents(count: number): Promise<void> {
    const events = Array.from({ length: count }, () => this.#createEvent())
    for (let at = 0; at < events.length; at += IN_FLIGHT) {
      await Promise.all(events.slice(at, at + IN_FLIGHT).map(event => this.#send(event)))
    }
  }

  /** The back end sends each name first: from then on, events of pages wait for its own. */
  async sendFirstEvents(): Promise<void> {
    for (const eventName of EVENT_NAMES) {
      const form = ANSWERS[3] as Form
      await this.#send({ ...this.#createEvent(false), eventName, orderId: null, form })
    }
  }

  async withdraw(): Promise<void> {
    const random = this.#random
    const person = random.pick(this.#people)
    const isPage = person.visitorId !== null && random.random() < 0.4
    const keys = ['em', 'ph', 'external_id', ...(person.visitorId === null ? [] : ['visitor'])]
    const withdrawal: Withdrawal = {
      at: this.#service.clock.now(),
      person,
      by: isPage ? 'visitor' : (random.pick(keys) as Withdrawal['by']),
      platforms: isPage || random.random() < 0.5 ? null : [random.pick(PLATFORMS)],
      isPage,
      reaches: isPage && !isRandomVisitor(person) ? 'pages' : 'everything',
    }
    this.result.withdrawals += 1
    this.#withdrawn.add(person)
    const body = toWithdrawalBody(withdrawal, `withdrawal-${this.result.withdrawals}`)
    const { status, text } = await this.#post(body, { isPage, headers: {} })
    if (status !== 202) this.result.surprises.push(`${body.event_id}: ${status} ${text}`)
    this.result.oracle.withdraw(withdrawal)
  }

  async deliver(): Promise<void> {
    await this.#service.deliver()
    this.result.oracle.deliver(this.#service.clock.now())
  }

  #createEvent(mayBePage = true): SentEvent {
    const random = this.#random
    this.result.events += 1
    const person = random.pick(this.#people)
    const isPage = mayBePage && person.visitorId !== null && random.random() < 0.25
    const eventName = random.pick(EVENT_NAMES)
    const number = this.result.events
    // A page's order is never a transaction of Google's, so only a back end names one here.
    const hasOrder = eventName === 'Purchase' && !isPage
    const again = this.#withdrawn.has(person) && random.random() < 0.5
    const capturedAt = again ? new Date(this.#service.clock.now().getTime() - 1_000) : null
    return {
      eventId: `event-${number}`,
      eventName,
      orderId: hasOrder ? `order-${number}` : null,
      person,
      hasVisitor: isPage || (person.visitorId !== null && random.random() < 0.7),
      identification: identify(random, person),
      form: capturedAt ? consentAgain(capturedAt) : pickForm(random, isPage),
      isPage,
      receivedAt: this.#service.clock.now(),
      capturedAt,
    }
  }

  async #send(event: SentEvent): Promise<void> {
    const { oracle, surprises } = this.result
    const { isPage, form } = event
    // The header of the browser counts on requests of pages only; a back end passes on its own.
    const headers = form.headers ?? {}
    const { status, text } = await this.#post(toBody(event), { isPage, headers })
    const expected = oracle.expectStatus(event)
    if (status !== expected) {
      const members = JSON.stringify(form.members)
      surprises.push(
        `${event.eventId} (${form.name}): ${status}, not ${expected}: ${members} ${text}`,
      )
    }
    if (status === 422) this.result.refused += 1
    if (status === 202) oracle.accept(event)
  }

  #post(body: unknown, { isPage, headers }: { isPage: boolean; headers: Record<string, string> }) {
    const { publishableKey, trackerSecret } = this.#service.tracker
    return this.#service.request('POST', '/api/v1/events', {
      body,
      secret: isPage ? publishableKey : trackerSecret,
      headers: { ...headers, ...(isPage && { origin: SHOP_ORIGIN }) },
    })
  }
}

function consentAgain(capturedAt: Date): Form {
  const consent = { advertising: 'granted', captured_at: capturedAt.toISOString() }
  return { ...(ANSWERS[3] as Form), name: 'again', members: { consent } }
}

function toBody(event: SentEvent): Record<string, unknown> {
  const { eventId, eventName, orderId, person, identification, form } = event
  const { userData, gclid } = identification
  return {
    event_id: eventId,
    event_name: eventName,
    consent_basis: 'consent',
    event_source: `${SHOP_ORIGIN}/checkout`,
    user_data: event.isPage ? omitBrowser(userData) : userData,
    ...(event.hasVisitor && { visitor_id: person.visitorId }),
    ...(gclid !== null && { click_ids: { gclid } }),
    ...(eventName === 'Purchase' && {
      value_data: { value: '19.90', currency: 'EUR', ...(orderId && { order_id: orderId }) },
    }),
    ...form.members,
  }
}

/** A page may not say which browser it is: that would be for anyone to forge. */
function omitBrowser(userData: Record<string, unknown>): Record<string, unknown> {
  const { client_user_agent, client_ip_address, ...rest } = userData
  return rest
}

function toWithdrawalBody({ person, by, platforms }: Withdrawal, eventId: string) {
  const values = { em: person.email, ph: `+${person.phone}`, external_id: person.externalId }
  const raw = by === 'visitor' ? '' : values[by]
  // Half of the callers keep digests only; that of a phone number has no +.
  const isDigest = person.number % 2 === 0
  const value = isDigest ? hash('sha256', raw.replace(/^\+/, '')) : raw
  return {
    event_id: eventId,
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    ...(by === 'visitor' ? { visitor_id: person.visitorId } : { user_data: { [by]: value } }),
    ...(platforms && { withdrawn_platforms: platforms }),
  }
}
