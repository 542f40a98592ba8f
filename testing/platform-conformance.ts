import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { it, type TestContext } from 'node:test'
import { TEST_CODE_PATTERN } from '@signalbox/contract/destinations.ts'
import { readCredential } from '../service/signals/platforms/credentials.ts'
import type {
  OutboundEvent,
  Platform,
  SendOutcome,
  SubmittedIdentity,
  TargetConfig,
} from '../service/signals/platforms/platform.ts'
import { startServer } from './platform-faults.ts'

/** The platform that the suite tests. */
export interface PlatformUnderTest<Target> {
  /** Creates the plug-in for the platform or its simulator at this address. */
  create(baseUrl: string): Platform<Target>
  /** Starts the platform or its simulator and stops it with the test. */
  start(test: TestContext): Promise<StartedPlatform>
  config: TargetConfig
  /** Where the platform does not take any text. */
  accessToken?: string
  /** An event that the platform accepts. */
  event: OutboundEvent
}

export interface StartedPlatform {
  baseUrl: string
  /** Gives the next response this outcome. */
  answerWith(outcome: AnswerOutcome): Promise<void>
}

/** The outcome of a response. Without a response it is `unknown`. */
export type AnswerOutcome = Exclude<SendOutcome, 'unknown'>

const OUTCOMES: readonly AnswerOutcome[] = [
  'accepted',
  'retry',
  'throttle',
  'auth',
  'config',
  'permanent',
]
const ACCESS_TOKEN_DEFAULT = 'the-token-of-the-conformance-suite'
const NO_ADDRESS = 'http://127.0.0.1:9'

const RAW = {
  em: 'Jane.Roe@Example.com',
  ph: '+1 650 555 1212',
  fn: 'Jane-Marie',
  ln: 'Roe-Richards',
  external_id: 'customer-4711-raw',
}
const SUBMITTED: SubmittedIdentity = {
  userData: RAW,
  clickIds: {},
  eventSource: 'https://shop.example/?email=jane.roe%40example.com',
  eventTime: new Date('2026-11-21T12:00:00.000Z'),
  observedAt: new Date('2026-11-21T12:00:00.000Z'),
}

/** Registers the tests that every platform passes. */
export function testPlatformConformance<Target>(
  name: string,
  { create, start, config, event, accessToken = ACCESS_TOKEN_DEFAULT }: PlatformUnderTest<Target>,
): void {
  const offline = create(NO_ADDRESS)

  const connect = (platform: Platform<Target>) => {
    const target = platform.parseTarget(config)
    assert.ok(target !== null)
    return { target, accessToken, testCode: null }
  }

  it(`${name}: has a name, an identity mark, a batch size and a delivery window`, () => {
    assert.match(offline.name, /^[a-z][a-z0-9_-]{0,39}$/)
    assert.match(offline.identityMark, /^[a-z]{1,2}$/)
    assert.ok(Number.isInteger(offline.batchMax) && offline.batchMax > 0)
    assert.ok(offline.windowSeconds('website') > 0)
  })

  it(`${name}: parses its own config and rejects any other`, () => {
    assert.ok(offline.parseTarget(config) !== null)
    for (const other of [{}, { anything: 1 }, { ...config, [Object.keys(config)[0] ?? '']: null }])
      assert.equal(offline.parseTarget(other), null)
  })

  it(`${name}: describes every member of its config for the form of the dashboard`, () => {
    const names = offline.targetFields.map(field => field.name)
    assert.deepEqual(names.sort(), Object.keys(config).sort())
    const { label, targetFields } = offline
    for (const text of [label, ...targetFields.flatMap(field => [field.label, field.hint])])
      assert.match(text, /^[A-Z]/)
  })

  it(`${name}: checks each member of its config for itself, as the whole`, () => {
    for (const field of offline.targetFields) {
      const value = config[field.name]
      const isGiven = typeof value === 'string' && value !== ''
      assert.ok(isGiven ? field.isValid(value) : field.optional, field.name)
      for (const wrong of ['no such value!', 'a b', '\u{1f600}', '../x', 'x'.repeat(3_000)]) {
        const isRefused = offline.parseTarget({ ...config, [field.name]: wrong }) === null
        assert.deepEqual([field.isValid(wrong), isRefused], [false, true], `${field.name} ${wrong}`)
      }
    }
  })

  it(`${name}: describes every kind of credential that it takes, and mints where it must`, () => {
    const { credentialForms, tokenGrant } = offline
    const kinds = credentialForms.map(({ kind }) => kind)
    assert.ok(kinds.length > 0)
    assert.equal(new Set(kinds).size, kinds.length)
    for (const { label, hint } of credentialForms)
      for (const text of [label, hint]) assert.match(text, /^[A-Z]/)
    const needsGrant = kinds.some(kind => kind !== 'bearer_token')
    assert.equal(tokenGrant !== undefined, needsGrant)
  })

  it(`${name}: returns an identity without raw values`, () => {
    const accepted = offline.normalizeIdentity(SUBMITTED)
    assert.ok(Object.keys(accepted.digests).length > 0)
    const text = JSON.stringify(accepted).toLowerCase()
    for (const raw of [...Object.values(RAW), 'jane', 'roe', '6505551212']) {
      assert.ok(!text.includes(raw.toLowerCase()), raw)
    }
    for (const digest of Object.values(accepted.digests).flat())
      assert.match(digest, /^\S{16,128}$/)
  })

  it(`${name}: returns equal identities for the same person, and none without identifiers`, () => {
    const again = { ...SUBMITTED, userData: { ...RAW, em: ` ${RAW.em.toLowerCase()} ` } }
    assert.deepEqual(offline.normalizeIdentity(again), offline.normalizeIdentity(SUBMITTED))
    for (const userData of [undefined, {}, { em: null }, { em: 5 }, { em: ['', {}] }]) {
      assert.deepEqual(offline.normalizeIdentity({ ...SUBMITTED, userData }).digests, {})
    }
  })

  it(`${name}: creates test codes that a destination can store`, () => {
    const codes = Array.from({ length: 20 }, () => offline.createTestCode())
    for (const code of codes) assert.match(code, new RegExp(TEST_CODE_PATTERN))
    assert.ok(new Set(codes).size > 1)
  })

  it(`${name}: creates simulator destinations that it can parse`, () => {
    const destination = offline.createSimulatorDestination()
    assert.ok(offline.parseTarget(destination.config) !== null)
    assert.ok(readCredential(offline, destination.credential))
  })

  for (const outcome of OUTCOMES) {
    it(`${name}: classifies a response as ${outcome}`, async test => {
      const { baseUrl, answerWith } = await start(test)
      const platform = create(baseUrl)
      assert.equal(platform.validateEvent(event), null)
      await answerWith(outcome)
      const answer = await platform.send(connect(platform), [event])
      assert.equal(answer.outcome, outcome)
      assert.equal(answer.error === null, outcome === 'accepted')
      assert.ok(answer.error === null || answer.error.class === outcome)
      if (outcome === 'throttle') assert.ok(answer.waitSeconds > 0)
      assert.ok(!JSON.stringify(answer).includes(accessToken))
    })
  }

  it(`${name}: builds the body that it sends, without the token`, async test => {
    const { url, seen } = await startServer(test, response => void response.end('{}'))
    const platform = create(url)
    for (const testCode of [null, 'TEST1']) {
      const connection = { ...connect(platform), testCode }
      await platform.send(connection, [event])
      const built = JSON.stringify(platform.buildBody(connection, [event]))
      assert.deepEqual(JSON.parse(built), JSON.parse(seen.at(-1)?.body ?? ''))
      assert.ok(!built.includes(accessToken))
    }
  })

  it(`${name}: returns an outcome and a reason when the platform is unreachable`, async () => {
    const unreachable = create(await closedAddress())
    const connection = connect(unreachable)
    const answer = await unreachable.send(connection, [event])
    assert.equal(answer.outcome, 'retry')
    assert.ok(answer.error)
    const day = { from: new Date('2026-11-20'), until: new Date('2026-11-21') }
    const counts = await unreachable.readDayCounts(connection, day, 'server')
    const quality = await unreachable.readMatchQuality(connection)
    for (const report of [counts, quality]) {
      assert.ok(report.kind === 'unavailable' && report.sentence !== '')
    }
  })
}

/** The address of a server that has stopped. */
async function closedAddress(): Promise<string> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return `http://127.0.0.1:${port}`
}
