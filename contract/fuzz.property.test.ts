import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { leaksIn } from '../testing/fuzz/answer-faults.ts'
import { documentOperations, routesBeside } from '../testing/fuzz/document-operations.ts'
import { type FuzzStory, fuzzCallers } from '../testing/fuzz/fuzz-callers.ts'
import { newFuzzCast } from '../testing/fuzz/fuzz-cast.ts'
import { type ProcessFootprint, processFootprint } from '../testing/fuzz/process-footprint.ts'
import { isShortRun, testSeeds } from '../testing/seeded-choices.ts'
import { type ServiceUnderTest, serviceUnderTest } from '../testing/service-under-test.ts'
import { platformTargetOf, revokeToken } from '../testing/simulator-controls.ts'

const OWN_SEED = 20_261_121
const CASES = Number(process.env.SIGNALBOX_FUZZ_CASES ?? (isShortRun() ? 2_000 : 20_000))
const CALLERS = 16
/** Callers whose platform takes nothing from them. */
const REFUSED_CALLERS = 2
/** The log that the test keeps grows by 1.1 KB a request, and the compiled code by some more. */
const GROWTH_BYTES_MAX = 48 * 1_024 ** 2 * Math.max(1, CASES / 20_000)
/** A pool may open its last connections after the first look. */
const RESOURCE_GROWTH_MAX = 16

/** Paths that are asked as well; the document is about the interface alone. */
const BESIDE = ['/livez', '/readyz', '/openapi.json', '/.well-known/jwks.json']

/** High enough that nobody meets them: requests of this test are no abuse. */
const LIMITS = {
  trackerRatePerSecond: 100_000,
  sandboxRatePerMinute: 100_000,
  failedAuthRatePerMinute: 100_000,
  oauthRatePerMinute: 100_000,
  agentRatePerMinute: 100_000,
  eventLoopDelayMillisecondsMax: 0,
}

const [seed = OWN_SEED] = testSeeds([OWN_SEED])

it(`no request breaks the contract, tells a secret or harms the process (seed ${seed}, ${CASES} requests)`, async test => {
  const service = await serviceUnderTest(test, { limits: LIMITS, trustedProxies: '127.0.0.0/8' })
  const casts = await Promise.all(Array.from({ length: CALLERS }, () => newFuzzCast(service)))
  for (const { own } of casts.slice(0, REFUSED_CALLERS)) {
    await revokeToken(service.simulatorUrl, (await platformTargetOf(service, own)).accessToken)
  }
  const operations = [...documentOperations, ...routesBeside(BESIDE)]
  const secrets = [...casts.flatMap(cast => cast.secrets), ...keyTexts(service)]
  const callers = fuzzCallers({ service, operations, casts, secrets, seed })
  test.after(() => callers.close())

  await callers.play(CASES * 0.1)
  const before = await footprintOf(service)
  await callers.play(CASES * 0.4)
  await service.deliver()
  await callers.play(CASES * 0.5)
  const after = await footprintOf(service)

  tell(test, callers.story)
  const again = `SIGNALBOX_TEST_SEED=${seed} SIGNALBOX_FUZZ_CASES=${CASES} plays this again`
  const { failures } = callers.story
  const troubles = troublesIn(service.logged())
  const told = [`${again}:`, ...new Set(failures), ...troubles].join('\n\n')
  assert.equal(failures.length, 0, told)
  assert.ok(callers.story.coverage.total >= CASES)
  assertReached(callers.story)
  assertHealthy(before, after)
  await assertKept(service, callers.story)
  assert.deepEqual(troublesIn(service.logged()), [])
  assert.deepEqual(leaksIn(service.logged(), [...secrets, 'sbx_test_']), [], 'the log')
})

/** Without what the simulator keeps for tests to look at. */
async function footprintOf(service: ServiceUnderTest): Promise<ProcessFootprint> {
  await fetch(`${service.simulatorUrl}/_simulator/received`, { method: 'DELETE' })
  return processFootprint()
}

/** The key that seals credentials, however it might be written. */
function keyTexts({ delivery: { credentialKeys } }: ServiceUnderTest): string[] {
  const { current } = credentialKeys
  return (['hex', 'base64', 'base64url'] as const).map(form => current.toString(form))
}

/** Which answers were reached: the same for the same seed. */
function tell(test: TestContext, { coverage }: FuzzStory): void {
  for (const line of coverage.toLines()) test.diagnostic(line)
}

const TROUBLES_MAX = 3

/** What the service itself says went wrong. That a platform refuses is told with 502. */
function troublesIn(log: string): string[] {
  const isTrouble = (line: string) =>
    /"level":"(warn|error|fatal)"/.test(line) && !line.includes('"status":502')
  return log.split('\n').filter(isTrouble).slice(0, TROUBLES_MAX)
}

/** A suite whose requests are all turned away at the door would prove nothing. */
function assertReached({ coverage }: FuzzStory): void {
  for (const { operationId } of documentOperations) {
    const statuses = [...coverage.of(operationId).keys()]
    assert.ok(
      statuses.some(status => status < 300),
      `no request to ${operationId} succeeded: testing/fuzz/meanings.ts should know its members`,
    )
  }
}

function assertHealthy(before: ProcessFootprint, after: ProcessFootprint): void {
  const grownBytes = after.heldBytes - before.heldBytes
  assert.ok(grownBytes < GROWTH_BYTES_MAX, `the process holds ${grownBytes} bytes more`)
  for (const [kind, count] of after.resources) {
    const grown = count - (before.resources.get(kind) ?? 0)
    assert.ok(grown <= RESOURCE_GROWTH_MAX, `${grown} more of ${kind}`)
  }
}

/** The ledger holds what was acknowledged, all of it and nothing else, and it can be delivered. */
async function assertKept(service: ServiceUnderTest, story: FuzzStory): Promise<void> {
  assert.equal((await service.request('GET', '/livez')).status, 200)
  assert.equal((await service.request('GET', '/readyz')).status, 200)
  await service.deliver()
  const { rows } = await service.database.pool.query(
    'select tracker_id, event_id, event_class from events',
  )
  const stored = new Set(rows.map(row => `${row.tracker_id} ${row.event_id}`))
  assert.deepEqual([...stored.symmetricDifference(story.acknowledged)], [])
  // A test purchase is answered with 200 or 502; any other event was new once, and never again.
  const submitted = rows.filter(row => row.event_class !== 'test')
  assert.equal(submitted.length, story.acceptedCount)
}
