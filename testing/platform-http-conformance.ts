import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { answerOfEvent, sendEvents } from '../service/signals/delivery/send-events.ts'
import type {
  Connection,
  OutboundEvent,
  Platform,
  SendAnswer,
} from '../service/signals/platforms/platform.ts'
import { withRedactedAnswers } from '../service/signals/platforms/registry.ts'
import { createHostileEvents, HOSTILE_USER_DATA, listVariedEvents } from './hostile-events.ts'
import { type PlatformUnderTest, testPlatformConformance } from './platform-conformance.ts'
import { FAULTS, startServer } from './platform-faults.ts'

/** A platform of the registry, whose simulator stands for it. One row for each plug-in. */
export interface SimulatedPlatform<Target> extends PlatformUnderTest<Target> {
  create(baseUrl: string, timeoutMilliseconds?: number): Platform<Target>
  /** The IDs of what its simulator took, copies included. */
  listReceivedIds(baseUrl: string): Promise<string[]>
  /** An event that passes no check of the platform's. It comes to its simulator unchecked. */
  badEvent: Partial<OutboundEvent>
  /** What the platform does with the batch of a bad event. */
  refuses: 'whole_batch' | 'bad_event'
  /** The platform's answers: to `count` events that it takes, and an error with this text. */
  acceptBody(count: number): string
  errorBody(message: string): string
  /** An event with all that the platform takes. */
  fullEvent: Partial<OutboundEvent>
  /** Reads a request. Numbers are texts, as they were written. */
  readSent(body: unknown): SentEvent[]
  /** The unit of event times. */
  timeUnitMilliseconds: number
  /** The platform's answer is the status; its body is not read. */
  isSettledByStatus?: boolean
  /** What in a request its contract does not have; null for a platform that publishes none. */
  findContractProblems: ((body: unknown) => string[]) | null
  /** Whether a caller's own digest of a field has the platform's form. */
  takesDigestsOf: { em: boolean; ph: boolean }
}

interface SentEvent {
  id: string
  amount: string | null
  currency: string | null
  /** Milliseconds since 1970. */
  time: number
}

const ACCESS_TOKEN = 'the-token-of-the-http-suite'
const TIMEOUT_MILLISECONDS = 250
const ANSWER_CHARACTERS_MAX = 20_000

/** Registers what every plug-in of the registry does, at its simulator and over HTTP. */
export function testPlatform<Target>(name: string, underTest: SimulatedPlatform<Target>): void {
  testPlatformConformance(name, underTest)
  testArrivals(name, underTest)
  testRefusals(name, underTest)
  testAnswers(name, underTest)
  testSecrets(name, underTest)
  testPayloads(name, underTest)
}

function connectTo<Target>(
  platform: Platform<Target>,
  { config, accessToken = ACCESS_TOKEN }: Pick<PlatformUnderTest<Target>, 'config' | 'accessToken'>,
): Connection<Target> {
  const target = platform.parseTarget(config)
  assert.ok(target !== null)
  return { target, accessToken, testCode: null }
}

function testRefusals<Target>(name: string, underTest: SimulatedPlatform<Target>): void {
  it(`${name}: refuses by itself what its platform would refuse`, async test => {
    const { baseUrl } = await underTest.start(test)
    const platform = underTest.create(baseUrl)
    const connection = connectTo(platform, underTest)
    const varied = listVariedEvents(platform, { ...underTest.event, ...underTest.fullEvent })
    const valid = varied.filter(event => platform.validateEvent(event) === null)
    const refused: string[] = []
    for (const event of valid) {
      const { outcome, httpStatus, error } = await platform.send(connection, [event])
      // Without a status it was not sent, because the destination cannot.
      if (outcome !== 'accepted' && httpStatus !== null) refused.push(String(error?.message))
    }
    assert.deepEqual(refused, [])
    assert.ok(valid.length > 50, String(valid.length))
  })
}

function numberedEvents(event: OutboundEvent, count: number): OutboundEvent[] {
  const numbers = Array.from({ length: count }, (_, index) => index)
  return numbers.map(number => ({ ...event, eventId: `event-${number}`, orderId: null }))
}

function testArrivals<Target>(name: string, underTest: SimulatedPlatform<Target>): void {
  it(`${name}: each event of a batch arrives once`, async test => {
    const { baseUrl } = await underTest.start(test)
    const platform = underTest.create(baseUrl)
    const events = numberedEvents(underTest.event, 25)
    const { outcomes, requests } = await deliver({ platform, underTest, events })
    assert.equal(requests.length, 1)
    assert.deepEqual(new Set(outcomes.values()), new Set(['accepted']))
    const ids = events.map(({ eventId }) => eventId)
    assert.deepEqual((await underTest.listReceivedIds(baseUrl)).sort(), ids.sort())
  })

  it(`${name}: one bad event costs no other event of its batch`, async test => {
    const { baseUrl } = await underTest.start(test)
    const platform = underTest.create(baseUrl)
    const events = numberedEvents(underTest.event, 9)
    events[4] = { ...events[4], ...underTest.badEvent } as OutboundEvent
    const { outcomes, requests } = await deliver({ platform, underTest, events })
    assert.equal(requests.length > 1, underTest.refuses === 'whole_batch')
    for (const { eventId } of events) {
      assert.equal(outcomes.get(eventId), eventId === 'event-4' ? 'permanent' : 'accepted', eventId)
    }
    const taken = events.map(({ eventId }) => eventId).filter(id => id !== 'event-4')
    assert.deepEqual((await underTest.listReceivedIds(baseUrl)).sort(), taken.sort())
  })
}

interface Delivered<Target> {
  platform: Platform<Target>
  underTest: SimulatedPlatform<Target>
  events: readonly OutboundEvent[]
}

/** Sends a batch as the worker does: it halves what is refused, and redacts what is stored. */
async function deliver<Target>({ platform, underTest, events }: Delivered<Target>) {
  const outcomes = new Map<string, string>()
  const requests: SendAnswer[] = []
  const sender = {
    platform: withRedactedAnswers(platform as Platform),
    connection: connectTo(platform, underTest),
    now: () => new Date(0),
    canStart: () => true,
    takeRequest: async () => 0,
    onAnswered: async ({ result, decided }: Parameters<OnAnswered>[0]) => {
      requests.push(result)
      for (const [index, { event }] of decided.entries()) {
        outcomes.set(event.eventId, answerOfEvent(result, index).outcome)
      }
    },
  }
  await sendEvents(
    sender,
    events.map((event, id) => ({ event, id })),
  )
  return { outcomes, requests }
}
type OnAnswered = Parameters<typeof sendEvents>[0]['onAnswered']

function testAnswers<Target>(name: string, underTest: SimulatedPlatform<Target>): void {
  for (const { title, answer: respond, expects, byStatus } of FAULTS) {
    it(`${name}: settles ${title}`, async test => {
      const accepted = underTest.acceptBody(1)
      const { url } = await startServer(test, response => {
        respond(response, accepted)
      })
      const platform = underTest.create(url, TIMEOUT_MILLISECONDS)
      const answer = await platform.send(connectTo(platform, underTest), [underTest.event])
      if (underTest.isSettledByStatus && byStatus) assert.equal(answer.outcome, byStatus)
      else assert.ok(expects(answer), JSON.stringify(answer))
      if (answer.outcome !== 'accepted') assert.ok(answer.error && answer.error.message !== '')
      assert.ok(JSON.stringify(answer).length < ANSWER_CHARACTERS_MAX)
    })
  }

  it(`${name}: follows no redirect, which would send the token elsewhere`, async test => {
    const other = await startServer(test, response => void response.end(underTest.acceptBody(1)))
    for (const status of [301, 302, 307, 308]) {
      const { url } = await startServer(test, response => {
        response.writeHead(status, { location: other.url }).end()
      })
      const platform = underTest.create(url)
      const answer = await platform.send(connectTo(platform, underTest), [underTest.event])
      assert.notEqual(answer.outcome, 'accepted')
    }
    assert.deepEqual(other.seen, [])
  })
}

function testSecrets<Target>(name: string, underTest: SimulatedPlatform<Target>): void {
  const { accessToken = ACCESS_TOKEN } = underTest

  it(`${name}: keeps no token or identifier of an answer that repeats them`, async test => {
    for (const status of [200, 400, 403, 422, 500]) {
      const { url } = await startServer(test, (response, seen) => {
        const repeated = `${seen.url} ${JSON.stringify(seen.headers)} ${seen.body}`
        response.writeHead(status).end(underTest.errorBody(`Invalid ${accessToken}: ${repeated}`))
      })
      const platform = underTest.create(url)
      const events = numberedEvents({ ...underTest.event, ...underTest.fullEvent }, 1)
      const { requests } = await deliver({ platform, underTest, events })
      const text = JSON.stringify(requests)
      assert.ok(!text.includes(accessToken), `${status}: ${text}`)
      const [{ digests = {}, plain = {} } = {}] = events
      const values = [...Object.values(digests).flat(), ...Object.values(plain)]
      for (const value of values) assert.ok(!text.includes(value), `${status}: ${value}`)
    }
  })

  it(`${name}: sends its token in no URL, or names the member that has it`, async test => {
    const { url, seen } = await startServer(
      test,
      response => void response.end(underTest.acceptBody(1)),
    )
    const platform = underTest.create(url)
    await platform.send(connectTo(platform, underTest), [underTest.event])
    const [request] = seen
    assert.ok(request)
    const address = new URL(request.url, url)
    for (const member of platform.secretQueryMembers ?? []) address.searchParams.delete(member)
    assert.ok(!decodeURIComponent(address.href).includes(accessToken))
  })
}

const AMOUNTS = ['19.90', '0', '0.01', '1200', '1.234', '999999999999.99', '0.1']

function testPayloads<Target>(name: string, underTest: SimulatedPlatform<Target>): void {
  /** The bodies of the requests, as text; an event that would be refused is not sent. */
  async function capture(test: TestContext, events: readonly OutboundEvent[]): Promise<string[]> {
    const { url, seen } = await startServer(
      test,
      response => void response.end(underTest.acceptBody(1)),
    )
    const platform = underTest.create(url)
    const connection = connectTo(platform, underTest)
    for (const event of events) {
      if (platform.validateEvent(event) === null) await platform.send(connection, [event])
    }
    return seen.map(({ body }) => body)
  }

  it(`${name}: sends money and time in its own units, without losing a digit`, async test => {
    const { timeUnitMilliseconds: unit } = underTest
    const events = AMOUNTS.map((valueAmount, index) => ({
      ...underTest.event,
      eventId: `event-${index}`,
      orderId: null,
      valueAmount,
    }))
    const bodies = await capture(test, events)
    const sent = bodies.flatMap(body => underTest.readSent(parseWithDigits(body)))
    const time = Math.floor(Number(underTest.event.eventTime) / unit) * unit
    assert.deepEqual(
      sent.map(({ amount, ...rest }) => ({ ...rest, amount: shortenDecimal(amount) })),
      events.map(({ eventId: id, valueAmount, valueCurrency: currency }) => {
        return { id, amount: shortenDecimal(valueAmount), currency, time }
      }),
    )
  })

  it(`${name}: takes hostile values, and never throws`, async test => {
    const events = createHostileEvents({ ...underTest.event, ...underTest.fullEvent })
    const bodies = await capture(test, events)
    assert.ok(bodies.length > 0)
    for (const body of bodies) assert.equal(typeof JSON.parse(body), 'object')
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
    const platform = underTest.create('http://127.0.0.1:9')
    const observedAt = new Date('2026-11-21T12:00:00Z')
    for (const userData of HOSTILE_USER_DATA) {
      const submitted = { userData, clickIds: {}, eventSource: '\ud800', observedAt }
      const identity = platform.normalizeIdentity({ ...submitted, eventTime: observedAt })
      assert.deepEqual(identity.digests, {})
    }
  })

  const { findContractProblems, event, fullEvent } = underTest
  const itHasContract = findContractProblems === null ? () => undefined : it
  itHasContract(`${name}: sends what its contract has, and nothing else`, async test => {
    const events = [event, { ...event, ...fullEvent }, { ...event, optOut: true }]
    assert.equal((await capture(test, events)).length, events.length)
    events.push(...listVariedEvents(underTest.create('http://127.0.0.1:9'), events[1] ?? event))
    for (const body of await capture(test, events))
      assert.deepEqual(findContractProblems?.(JSON.parse(body)), [])
  })

  it(`${name}: sends a caller's own digest only where it has its form`, () => {
    const platform = underTest.create('http://127.0.0.1:9')
    const at = new Date('2026-11-21T12:00:00Z')
    const supplied = { em: hash('sha256', 'jane@example.com'), ph: hash('sha256', '16505551212') }
    const submitted = { userData: supplied, clickIds: {}, eventSource: undefined }
    const { digests } = platform.normalizeIdentity({ ...submitted, eventTime: at, observedAt: at })
    const expected = (['em', 'ph'] as const).filter(key => underTest.takesDigestsOf[key])
    assert.deepEqual(digests, Object.fromEntries(expected.map(key => [key, [supplied[key]]])))
  })
}

/** Numbers become the text that was sent. */
function parseWithDigits(text: string): unknown {
  const keepSource = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? context?.source : value
  return JSON.parse(text, keepSource as (key: string, value: unknown) => unknown)
}

function shortenDecimal(amount: string | null): string | null {
  return amount?.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') ?? null
}
