import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { dumpDatabase, findTraces } from '../../../testing/fixtures/database-dump.ts'
import { deliverRound } from '../../../testing/fixtures/delivery-round.ts'
import { SHOP_ORIGIN, samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startSecondService } from '../../../testing/fixtures/second-process.ts'
import {
  chooseSeeds,
  createSeededRandom,
  type SeededRandom,
} from '../../../testing/fixtures/seeded-random.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { assertCountersMatch } from '../../../testing/fixtures/stored-events.ts'
import type { DeliveryContext } from '../delivery/delivery-context.ts'

const OWN_SEEDS = [1, 2, 3]
const CALLERS = 16
const STEPS = 320
const PEOPLE = 5

for (const seed of chooseSeeds(OWN_SEEDS)) {
  it(`leaves no data of people erased during acceptance and delivery (seed ${seed})`, async test => {
    const again = `SIGNALBOX_TEST_SEED=${seed} plays this again`
    const race = await startRace(test, seed)
    let left = STEPS
    const caller = async () => {
      for (; left > 0; await STEP[race.choices.weighted(WEIGHTS)](race)) left -= 1
    }
    await Promise.all(Array.from({ length: CALLERS }, caller))

    const { service, erased, urls } = race
    assert.deepEqual([...race.statuses].sort(), [200, 202], again)
    const dump = await dumpDatabase(service.database)
    test.diagnostic(`seed ${seed}: ${erased.size} of ${PEOPLE * 3} identifiers erased`)
    assert.ok(erased.size >= PEOPLE && urls.length === 3)
    for (const identifier of erased) {
      assert.deepEqual(findTraces(dump, [identifier]), [], `${again}: ${identifier}`)
      assert.deepEqual(findTraces(race.logged().split('\n'), [identifier]), [], again)
    }
    await assertCountersMatch(service.database)
  })
}

interface Race {
  service: TestService
  /** Three processes on one store. */
  urls: readonly string[]
  logged: () => string
  choices: SeededRandom
  delivery: DeliveryContext
  /** Normalized identifiers. */
  erased: Set<string>
  statuses: Set<number>
  nextEvent: number
}

async function startRace(test: TestContext, seed: number): Promise<Race> {
  const service = await startTestService(test)
  const others = [await startSecondService(test, service), await startSecondService(test, service)]
  const respond = { status: 400, code: 100, subcode: 2_804_050 }
  await scriptFaults(service.simulatorUrl, [
    { probability: 0.3, seed, respond },
    { probability: 0.2, seed, respond: { status: 503, code: 2 } },
  ])
  return {
    service,
    urls: [service.url, ...others.map(({ url }) => url)],
    logged: () => [service, ...others].map(one => one.logged()).join('\n'),
    choices: createSeededRandom(seed),
    delivery: echoing(service.delivery),
    erased: new Set(),
    statuses: new Set(),
    nextEvent: 0,
  }
}

/** A platform whose refusals repeat the request. */
function echoing(delivery: DeliveryContext): DeliveryContext {
  return {
    ...delivery,
    platforms: delivery.platforms.map(platform => ({
      ...platform,
      async send(connection, events) {
        const answer = await platform.send(connection, events)
        if (answer.error === null) return answer
        const message = JSON.stringify(events.map(({ digests }) => digests))
        const error = { ...answer.error, message, user_message: message }
        return { ...answer, error, answer: { error: { message } } }
      },
    })),
  }
}

const WEIGHTS = { submit: 60, withdraw: 4, erase: 10, deliver: 14, replay: 4, analyze: 2, wait: 6 }

const STEP: Record<keyof typeof WEIGHTS, (race: Race) => Promise<void>> = {
  async submit(race) {
    race.nextEvent += 1
    const person = personOf(race)
    const body = samplePurchase({ event_id: `event-${race.nextEvent}`, ...namesOf(race, person) })
    await post(race, body)
  },
  async withdraw(race) {
    race.nextEvent += 1
    const { visitor_id } = namesOf(race, personOf(race))
    const mark = { event_name: 'consent_withdrawal', consent_basis: 'legitimate_interest' }
    await post(race, { event_id: `event-${race.nextEvent}`, visitor_id, ...mark })
  },
  async erase(race) {
    const { email, phone, externalId } = personOf(race)
    const identifier = race.choices.pick([email, phone, externalId])
    await send(race, {
      method: 'DELETE',
      path: '/user-data',
      body: { identifier_hash: hash('sha256', identifier) },
    })
    race.erased.add(identifier)
  },
  async deliver({ delivery }) {
    await deliverRound({ ...delivery, batchMax: 5 })
  },
  async replay(race) {
    await send(race, { method: 'POST', path: '/deliveries/replay', body: {} })
  },
  async analyze({ service }) {
    await service.database.pool.query('analyze')
  },
  async wait({ service }) {
    service.clock.advance(30)
  },
}

interface Person {
  email: string
  phone: string
  externalId: string
  visitor: string
}

function personOf({ choices }: Race): Person {
  const index = choices.integer(1, PEOPLE)
  return {
    email: `racer-${index}@race.example`,
    phone: `4915120000${index}00`,
    externalId: `crm-racer-${index}`,
    visitor: `browser-${index}`,
  }
}

/** Some identifiers of a person, raw or hashed, in any letter case. */
function namesOf({ choices }: Race, { email, phone, externalId, visitor }: Person) {
  const hashed = (text: string) => choices.pick([text, hash('sha256', text).toUpperCase()])
  const all = {
    em: hashed(email),
    ph: hashed(`+${phone}`.slice(1)),
    external_id: hashed(externalId),
  }
  const kept = Object.entries(all).filter(() => choices.random() < 0.6)
  return {
    visitor_id: choices.pick([visitor, visitor, externalId, email, `+${phone}`]),
    user_data: { ...Object.fromEntries(kept), country: 'de' },
  }
}

/** Submits as the shop's server, as its page, or as a beacon when the page closes. */
function post(race: Race, body: Record<string, unknown>): Promise<void> {
  const { publishableKey } = race.service.tracker
  const request = { method: 'POST', path: '/events', body }
  const headers = { origin: SHOP_ORIGIN }
  return race.choices.pick([
    () => send(race, request),
    () => send(race, { ...request, secret: publishableKey, headers }),
    () => {
      const type = { ...headers, 'content-type': 'text/plain;charset=UTF-8' }
      const path = `/events?key=${publishableKey}`
      return send(race, { ...request, path, secret: null, headers: type })
    },
  ])()
}

interface Sent {
  method: string
  path: string
  body: unknown
  secret?: string | null
  headers?: Record<string, string>
}

async function send(race: Race, { method, path, body, ...sent }: Sent): Promise<void> {
  const { secret = race.service.tracker.trackerSecret, headers = {} } = sent
  const response = await fetch(`${race.choices.pick(race.urls)}/api/v1${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(secret !== null && { authorization: `Bearer ${secret}` }),
      ...headers,
    },
    body: JSON.stringify(body),
  })
  await response.arrayBuffer()
  race.statuses.add(response.status)
}
