import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleOutboundEvent } from '../../../testing/fixtures/sample-events.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { metaPlatform } from '../platforms/meta/client.ts'
import type { OutboundEvent, SendOutcome } from '../platforms/platform.ts'
import { type OutboundDelivery, type Sender, type SentRequest, sendEvents } from './send-events.ts'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const TOO_OLD = new Date('2026-11-01T00:00:00.000Z')

interface Sent {
  requests: SentRequest[]
  unsent: number[]
  lastOutcome: SendOutcome | undefined
  /** The outcome that decided each delivery, by its id. */
  decided: Map<number, SendOutcome>
  url: string
}

interface Script {
  faults?: unknown[]
  mayStart?: (requests: number) => boolean
}

async function send(
  test: TestContext,
  sendings: readonly OutboundDelivery[],
  { faults = [], mayStart = () => true }: Script = {},
): Promise<Sent> {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  await scriptFaults(url, faults)
  const requests: SentRequest[] = []
  const sender: Sender = {
    platform: metaPlatform({
      baseUrl: url,
      version: 'v26.0',
      timeoutMilliseconds: 30_000,
      now: () => new Date(),
    }),
    connection: { target: { datasetId: '1234' }, accessToken: 'token', testCode: null },
    now: () => NOW,
    canStart: () => mayStart(requests.length),
    takeRequest: async () => 0,
    onAnswered: async request => void requests.push(request),
  }
  const { lastAnswer, unsent } = await sendEvents(sender, sendings)
  const decided = requests.flatMap(({ result, decided: whom }) =>
    whom.map(({ id }): [number, SendOutcome] => [id, result.outcome]),
  )
  assert.equal(new Set(decided.map(([id]) => id)).size, decided.length, 'decided twice')
  return {
    requests,
    unsent: unsent.map(({ id }) => id),
    lastOutcome: lastAnswer?.outcome,
    decided: new Map(decided),
    url,
  }
}

function batch(size: number, odd: Record<number, Partial<OutboundEvent>> = {}): OutboundDelivery[] {
  return Array.from({ length: size }, (_, index) => ({
    id: index + 1,
    event: sampleOutboundEvent({ eventId: `event-${index + 1}`, ...odd[index + 1] }),
  }))
}

function idsOf(decided: Map<number, SendOutcome>, outcome: SendOutcome): number[] {
  return [...decided].filter(([, found]) => found === outcome).map(([id]) => id)
}

it('sends a valid batch in one request', async test => {
  const { requests, decided, unsent } = await send(test, batch(1_000))
  assert.equal(requests.length, 1)
  assert.equal(requests[0]?.eventCount, 1_000)
  assert.equal(idsOf(decided, 'accepted').length, 1_000)
  assert.deepEqual(unsent, [])
})

it('isolates the one invalid event of a thousand and sends the others', async test => {
  const { requests, decided, url } = await send(test, batch(1_000, { 613: { eventTime: TOO_OLD } }))
  assert.deepEqual(idsOf(decided, 'permanent'), [613])
  assert.equal(idsOf(decided, 'accepted').length, 999)
  assert.ok(requests.length <= 21, `${requests.length} requests`)
  const { receipts, deduplicated } = await readSimulatorSummary(url)
  assert.deepEqual([receipts, deduplicated], [999, 0])
})

it('isolates adjacent invalid events and those at both ends', async test => {
  const old = { eventTime: TOO_OLD }
  const { decided } = await send(test, batch(16, { 1: old, 8: old, 9: old, 16: old }))
  assert.deepEqual(
    idsOf(decided, 'permanent').toSorted((a, b) => a - b),
    [1, 8, 9, 16],
  )
  assert.equal(idsOf(decided, 'accepted').length, 12)
})

it('sends each event alone only once when all are invalid', async test => {
  const odd = Object.fromEntries(
    Array.from({ length: 8 }, (_, i) => [i + 1, { eventTime: TOO_OLD }]),
  )
  const { requests, decided } = await send(test, batch(8, odd))
  assert.equal(idsOf(decided, 'permanent').length, 8)
  assert.equal(requests.length, 15)
})

it('does not halve a batch after an answer that is not about its content', async test => {
  for (const [code, outcome] of [
    [2, 'retry'],
    [9_999, 'unknown'],
  ] as const) {
    const faults = [{ respond: { status: 500, code } }]
    const { requests, decided } = await send(test, batch(4), { faults })
    assert.equal(requests.length, 1)
    assert.equal(idsOf(decided, outcome).length, 4)
  }
})

for (const [code, outcome] of [
  [190, 'auth'],
  [200, 'config'],
  [4, 'throttle'],
  [368, 'retry'],
] as const) {
  it(`sends no further half after code ${code}, and returns the rest unsent`, async test => {
    const faults = [
      { times: 1, respond: { status: 400, code: 100, subcode: 2_804_003 } },
      { respond: { status: 400, code } },
    ]
    const sent = await send(test, batch(8), { faults })
    assert.equal(sent.requests.length, 2)
    assert.equal(sent.lastOutcome, outcome)
    assert.deepEqual(idsOf(sent.decided, outcome), [1, 2, 3, 4])
    assert.deepEqual(sent.unsent, [5, 6, 7, 8])
  })
}

it('continues with the other half after a timeout', async test => {
  const faults = [
    { times: 1, respond: { status: 400, code: 100, subcode: 2_804_003 } },
    { times: 1, respond: { status: 503, code: 2 } },
  ]
  const { decided, unsent } = await send(test, batch(8), { faults })
  assert.deepEqual(idsOf(decided, 'retry'), [1, 2, 3, 4])
  assert.deepEqual(idsOf(decided, 'accepted'), [5, 6, 7, 8])
  assert.deepEqual(unsent, [])
})

it('stops when the platform accepts and asks for a pause', async test => {
  const body = '{"events_received":4,"messages":[],"fbtrace_id":"A1"}'
  const headers = { 'x-app-usage': '{"call_count":95}' }
  const faults = [
    { times: 1, respond: { status: 400, code: 100, subcode: 2_804_003 } },
    { times: 1, respond: { status: 200, body, headers } },
  ]
  const { decided, unsent } = await send(test, batch(8), { faults })
  assert.deepEqual(idsOf(decided, 'accepted'), [1, 2, 3, 4])
  assert.deepEqual(unsent, [5, 6, 7, 8])
})

it('starts no request when the lease is too short, and returns all deliveries', async test => {
  const none = await send(test, batch(3), { mayStart: () => false })
  assert.deepEqual([none.requests.length, none.unsent], [0, [1, 2, 3]])
  assert.equal(none.lastOutcome, undefined)

  const old = { eventTime: TOO_OLD }
  const some = await send(test, batch(8, { 8: old }), { mayStart: requests => requests < 2 })
  assert.deepEqual(idsOf(some.decided, 'accepted'), [1, 2, 3, 4])
  assert.deepEqual(some.unsent, [5, 6, 7, 8])
})

it('sends the groups of a platform in requests of their own, each halved for itself', async () => {
  const event = (name: string, group: string) =>
    sampleOutboundEvent({ eventId: name, actionSource: group })
  const events = [
    event('a', 'website'),
    event('b', 'chat'),
    event('bad', 'website'),
    event('c', 'chat'),
  ]
  const requests: string[][] = []
  const send = async (_: unknown, sent: readonly OutboundEvent[]) => {
    const ids = sent.map(({ eventId }) => eventId)
    requests.push(ids)
    const outcome: SendOutcome = ids.includes('bad') ? 'permanent' : 'accepted'
    return { outcome, waitSeconds: 0, httpStatus: 200, traceId: null, answer: null, error: null }
  }
  const splitBatch = (all: readonly OutboundEvent[]) => [
    ...Map.groupBy(all, ({ actionSource }) => actionSource).values(),
  ]
  const { lastAnswer, unsent } = await sendEvents(
    {
      platform: { splitBatch, send } as never,
      connection: { target: {}, accessToken: 'token', testCode: null },
      now: () => NOW,
      canStart: () => true,
      takeRequest: async () => 0,
      onAnswered: async () => undefined,
    },
    events.map((each, id) => ({ event: each, id })),
  )
  assert.deepEqual(requests, [['a', 'bad'], ['a'], ['bad'], ['b', 'c']])
  assert.deepEqual([lastAnswer?.outcome, unsent], ['accepted', []])
})
