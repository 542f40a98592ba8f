import assert from 'node:assert/strict'
import type { BehaviorCase } from '../../behavior-table.ts'
import {
  APIConnectionError,
  APIError,
  consent,
  type Event,
  Signalbox,
  SignalboxError,
  type WarningInfo,
} from '../src/sdk.ts'
import { assertPrintsNone, Expectations } from './expectations.ts'
import { FakeClock } from './fake-clock.ts'
import { ScriptedFetch } from './scripted-fetch.ts'

// biome-ignore lint/suspicious/noExplicitAny: behavior.schema.json describes the cases
type Json = any

interface Run {
  one: BehaviorCase
  clock: FakeClock
  expect: Expectations
  hooks: Json[]
  /** Everything that must not contain a secret. */
  produced: unknown[]
  createClient: () => Signalbox
}

/** Runs one case of the table against this client. */
export async function runCase(one: BehaviorCase, now: string): Promise<void> {
  const clock = new FakeClock(new Date(now), one.random)
  const script = new ScriptedFetch(clock, one)
  const expect = new Expectations()
  const hooks: Json[] = []
  const createClient = () => new Signalbox(toOptions(one, { script, hooks }))
  const run = { one, clock, expect, hooks, produced: [], createClient }
  using _environment = replaceEnvironment(one.environment)
  using _clock = clock.install()
  await (one.queue ? runQueue(run) : runCall(run))
  checkRequests(script, run)
  if (one.hooks) expect.contains(hooks, one.hooks, 'hooks')
  assert.equal(clock.pending, 0, 'timers are left')
  const secrets = [one.client.token, ...one.secrets].filter(Boolean)
  for (const value of [...run.produced, ...hooks]) assertPrintsNone(secrets, value)
}

function toOptions(
  { client }: BehaviorCase,
  { script, hooks }: { script: ScriptedFetch; hooks: Json[] },
) {
  const record = (hook: string) => (info: Json) => {
    const { requestId: request_id, delayMilliseconds: delay_ms, ...others } = info
    hooks.push({ hook, ...others, request_id, delay_ms })
  }
  return {
    token: client.token ?? undefined,
    baseUrl: client.base_url ?? undefined,
    maxRetries: client.max_retries,
    timeout: client.timeout_ms,
    totalTimeout: client.total_timeout_ms,
    appInfo: client.app_info,
    fetch: script.fetch as typeof fetch,
    hooks: {
      onRequest: record('request'),
      onResponse: record('response'),
      onRetry: record('retry'),
      onWarning: ({ eventId: event_id, ...others }: WarningInfo) =>
        void hooks.push({ hook: 'warning', event_id, ...others }),
    },
  }
}

async function runCall({ one, clock, expect, produced, createClient }: Run): Promise<void> {
  const { operation, options, arguments: given } = one.call
  const controller = new AbortController()
  if (one.cancel_at_ms !== undefined) clock.schedule(() => controller.abort(), one.cancel_at_ms)
  const parameters = toNative(given)
  const items: string[] = []
  let value: Json
  let error: Json
  try {
    const client = createClient()
    produced.push(client)
    const call = OPERATIONS[operation]
    assert.ok(call, `OPERATIONS of this file does not call ${operation}`)
    const settings = {
      maxRetries: options?.max_retries,
      timeout: options?.timeout_ms,
      totalTimeout: options?.total_timeout_ms,
      signal: controller.signal,
    }
    const called = async () => call(client, parameters, { options: settings, items })
    value = await clock.run(called())
  } catch (caught) {
    error = caught
    produced.push(error)
  }
  const { result } = one
  checkError(expect, error, result.error)
  if (result.value) expect.contains(value, result.value, 'value')
  if (result.items) assert.deepEqual(items, result.items)
  if (result.at_ms !== undefined) assert.equal(clock.now, result.at_ms)
  if (result.error?.at_ms !== undefined) assert.equal(clock.now, result.error.at_ms)
  if (one.arguments_after) assert.deepEqual(parameters, one.arguments_after)
  checkFacts(expect, value?.lastResponse, result)
}

function checkFacts(
  expect: Expectations,
  facts: Json,
  { request_id, status, attempts, headers }: Json,
) {
  const read = facts && { ...facts, headers: Object.fromEntries(facts.headers) }
  const expected = { requestId: request_id, status, attempts, headers }
  const given = Object.entries(expected).filter(([, value]) => value !== undefined)
  if (given.length > 0) expect.contains(read, Object.fromEntries(given), 'lastResponse')
}

function checkError(expect: Expectations, error: Json, expected: Json): void {
  if (!expected) {
    if (error) throw error
    return
  }
  assert.ok(error, `there is no error of type ${expected.type}`)
  const isAbort = error instanceof DOMException && error.name === 'AbortError'
  if (!isAbort && !(error instanceof SignalboxError)) throw error
  assert.equal(isAbort ? 'aborted' : (error as SignalboxError).type, expected.type, String(error))
  const { message_contains: part, at_ms: _at, type: _type, ...members } = expected
  if (part) assert.ok(error.message.includes(part), error.message)
  if (error instanceof APIError || error instanceof APIConnectionError) {
    const { request_id, retry_after_seconds, raw_body, ...others } = members
    const renamed = { requestId: request_id, retryAfter: retry_after_seconds, rawBody: raw_body }
    const given = Object.entries({ ...others, ...renamed }).filter(
      ([, value]) => value !== undefined,
    )
    expect.contains(error, Object.fromEntries(given), 'error')
  }
}

interface CallContext {
  options: Json
  items: string[]
}

type Call = (client: Signalbox, given: Json, context: CallContext) => unknown

const OPERATIONS: Record<string, Call> = {
  'events.create': (client, { event }, { options }) => client.events.create(event, options),
  'events.create_events': async (client, { events, repeat = 1 }, { options }) => {
    const list = Array.from({ length: repeat }, () => events).flat()
    return { results: await client.events.createEvents(list, options) }
  },
  'events.get': (client, { event, space }, { options }) =>
    client.events.get(event, { space, ...options }),
  'events.list': (client, given, { options }) => client.events.list(given, options),
  'events.iterate': iterateEvents,
  'events.verify': (client, _given, { options }) => client.events.verify(options),
  'events.wait_for_delivery': (client, { event, space, timeout_ms: timeout }) =>
    client.events.waitForDelivery(event, { space, timeout }),
  'destinations.set_test_mode': (client, given, { options }) =>
    client.destinations.setTestMode(given.destination, given.test_mode, options),
  'destinations.send_test_purchase': (client, given, { options }) =>
    client.destinations.sendTestPurchase(given.destination, given.test_purchase, options),
  'deliveries.replay': (client, { replay }, { options }) =>
    client.deliveries.replay(replay, options),
  'reports.reconciliation': (client, given, { options }) =>
    client.reports.reconciliation(given, options),
  'reports.match_quality': (client, _given, { options }) => client.reports.matchQuality(options),
  'user_data.delete': (client, given, { options }) => client.userData.delete(given, options),
  'sandbox.discover': client => client.sandbox.discover(),
  'sandbox.create_key': client => client.sandbox.createKey(),
  'sandbox.read_key': client => client.sandbox.readKey(),
  'sandbox.validate': (client, { event, api_key: apiKey }) =>
    client.sandbox.validate(event, { apiKey }),
  'consent.granted': (_client, given) => consent.granted(given),
  'consent.mode': (_client, given) => consent.mode(given),
  // runCase searches the printed forms of every client.
  'client.print': () => ({}),
}

async function iterateEvents(client: Signalbox, given: Json, { items }: CallContext) {
  const { take, ...parameters } = given
  for await (const event of client.events.list(parameters) as AsyncIterable<Event>) {
    items.push(event.id)
    if (items.length === take) break
  }
}

async function runQueue({ one, clock, expect, produced, createClient }: Run): Promise<void> {
  const reported: Json[] = []
  const onOutcome = (outcome: Json) => void reported.push({ ...outcome, at_ms: clock.now })
  const { batch_size: batchSize, ...limits } = one.queue
  const queue = createClient().queue({ ...limits, batchSize, onOutcome })
  produced.push(queue)
  for (const step of one.steps) {
    if (step.at_ms !== undefined) await clock.moveTo(step.at_ms)
    if (step.do === 'add') {
      addEvent({ queue, step, expect })
      continue
    }
    const close = () => queue.close({ timeout: step.deadline_ms })
    const result: Json = await clock.run(step.do === 'flush' ? queue.flush() : close())
    produced.push(result)
    checkQueueResult(expect, result, step.result)
    if (step.result?.at_ms !== undefined) assert.equal(clock.now, step.result.at_ms)
  }
  if (one.reported) expect.contains(reported, one.reported, 'reported')
}

function addEvent({ queue, step, expect }: Json): void {
  let id: string | undefined
  let error: unknown
  try {
    id = queue.add(toNative(step.event))
  } catch (caught) {
    error = caught
  }
  checkError(expect, error, step.error)
  if (step.id) expect.contains(id, step.id, 'id')
}

function checkQueueResult(expect: Expectations, result: Json, { outcomes, omitted, left }: Json) {
  if (omitted !== undefined) assert.equal(result.omitted, omitted)
  if (left) assert.deepEqual(result.left, left)
  if (!outcomes) return
  assert.equal(result.outcomes.length, outcomes.length)
  outcomes.forEach(({ error, ...members }: Json, at: number) => {
    expect.contains(result.outcomes[at], members, `outcomes[${at}]`)
    checkError(expect, result.outcomes[at].error, error)
  })
}

function checkRequests({ requests }: ScriptedFetch, { one, expect }: Run): void {
  const order = (calls: Json[]) =>
    one.queue
      ? calls.toSorted((a, b) => a.at_ms - b.at_ms || idOf(a).localeCompare(idOf(b)))
      : calls
  assert.equal(requests.length, one.calls.length, 'requests')
  const expected = order(one.calls)
  order(requests).forEach((request, at) => {
    const {
      headers = {},
      body,
      query = {},
      origin = 'https://events.example',
      ...rest
    } = expected[at]
    expect.contains(request, { ...rest, origin }, `request ${at}`)
    assert.deepEqual(request.query, query)
    if (body !== undefined) expect.equals(request.body, body, `request ${at} body`)
    for (const [name, value] of Object.entries(headers)) {
      expect.contains(request.headers[name.toLowerCase()], value, `request ${at} ${name}`)
    }
  })
}

function idOf({ body, event_ids: ids }: Json): string {
  return String(body?.event_id ?? ids?.[0] ?? '')
}

/** `{"$time": text}` is a native time, and `{"$native": kind}` a value that JSON does not have. */
function toNative(value: Json): Json {
  if (Array.isArray(value)) return value.map(toNative)
  if (typeof value !== 'object' || value === null) return value
  if (typeof value.$time === 'string') return new Date(value.$time)
  if (typeof value.$native === 'string') return NATIVE_VALUES[value.$native]?.()
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toNative(one)]))
}

const NATIVE_VALUES: Record<string, () => Json> = {
  cycle() {
    const list: Json[] = []
    list.push(list)
    return list
  },
  nan: () => Number.NaN,
  infinity: () => Number.POSITIVE_INFINITY,
  large_integer: () => 2n ** 64n,
  set: () => new Set(['a']),
  function: () => () => 'a',
  invalid_time: () => new Date(Number.NaN),
}

const VARIABLES = ['SIGNALBOX_TOKEN', 'SIGNALBOX_BASE_URL']

function replaceEnvironment(environment: Record<string, string>): Disposable {
  const before = VARIABLES.map(name => [name, process.env[name]] as const)
  for (const name of VARIABLES) delete process.env[name]
  Object.assign(process.env, environment)
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    },
  }
}
