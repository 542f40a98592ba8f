import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { chooseSeeds, isShortRun } from '../testing/fixtures/seeded-random.ts'
import { startTestService, type TestService } from '../testing/fixtures/service.ts'
import { findPlatformTarget, revokeToken } from '../testing/fixtures/simulator.ts'
import { createFuzzAccounts } from '../testing/fuzz/fuzz-accounts.ts'
import {
  createFuzzer,
  type FuzzResult,
  measureFootprint,
  type ProcessFootprint,
} from '../testing/fuzz/fuzzer.ts'
import {
  describeUndocumentedRoutes,
  documentOperations,
} from '../testing/fuzz/openapi-operations.ts'
import { findLeaks } from '../testing/fuzz/response-checks.ts'

const OWN_SEED = 20_261_121
const CASES = Number(process.env.SIGNALBOX_FUZZ_CASES ?? (isShortRun() ? 1_000 : 20_000))
const REACHING_CASES_MIN = 20_000
const CALLERS = 16
/** Callers whose platform accepts no event. */
const REFUSED_CALLERS = 2
/** The log that the test keeps grows by 1.1 KB a request, and the compiled code by some more. */
const GROWTH_BYTES_MAX = 48 * 1_024 ** 2 * Math.max(1, CASES / 20_000)
/** A pool may open more connections after the first measurement. */
const RESOURCE_GROWTH_MAX = 16

/** Additional paths, which the document does not describe. */
const BESIDE = ['/', '/livez', '/readyz', '/openapi.json', '/.well-known/jwks.json']

/** High enough that this test never reaches them. */
const LIMITS = {
  trackerRatePerSecond: 100_000,
  sandboxRatePerMinute: 100_000,
  // After a failed authentication every request takes the hooks, and none the short road.
  failedAuthRatePerMinute: 0,
  oauthRatePerMinute: 100_000,
  agentRatePerMinute: 100_000,
  eventLoopDelayMillisecondsMax: 0,
}

const [seed = OWN_SEED] = chooseSeeds([OWN_SEED])

it(`no request breaks the contract, leaks a secret or crashes the process (seed ${seed}, ${CASES} requests)`, async test => {
  const service = await startTestService(test, { limits: LIMITS, trustedProxies: '127.0.0.0/8' })
  const casts = await Promise.all(
    Array.from({ length: CALLERS }, () => createFuzzAccounts(service)),
  )
  for (const { own } of casts.slice(0, REFUSED_CALLERS)) {
    await revokeToken(service.simulatorUrl, (await findPlatformTarget(service, own)).accessToken)
  }
  const operations = [...documentOperations, ...describeUndocumentedRoutes(BESIDE)]
  const secrets = [...casts.flatMap(cast => cast.secrets), ...keyTexts(service)]
  const callers = createFuzzer({ service, operations, accounts: casts, secrets, seed })
  test.after(() => callers.close())

  await callers.run(CASES * 0.1)
  const before = await footprintOf(service)
  await callers.run(CASES * 0.4)
  await service.deliver()
  await callers.run(CASES * 0.5)
  const after = await footprintOf(service)

  reportCoverage(test, callers.result)
  const again = `SIGNALBOX_TEST_SEED=${seed} SIGNALBOX_FUZZ_CASES=${CASES} plays this again`
  const { failures } = callers.result
  const troubles = findLoggedErrors(service.logged())
  const told = [`${again}:`, ...new Set(failures), ...troubles].join('\n\n')
  assert.equal(failures.length, 0, told)
  assert.ok(callers.result.coverage.total >= CASES)
  // A short run makes too few requests to reach each operation with a valid one.
  if (CASES >= REACHING_CASES_MIN) assertReached(callers.result)
  const { taken } = service.server.app.shortRoad
  test.diagnostic(`${taken} requests took the short road`)
  assert.ok(taken > 0 || CASES < REACHING_CASES_MIN)
  assertHealthy(before, after)
  await assertKept(service, callers.result)
  assert.deepEqual(findLoggedErrors(service.logged()), [])
  assert.deepEqual(findLeaks(service.logged(), [...secrets, 'sbx_test_']), [], 'the log')
})

/** Without the events that the simulator keeps for tests. */
async function footprintOf(service: TestService): Promise<ProcessFootprint> {
  await fetch(`${service.simulatorUrl}/_simulator/received`, { method: 'DELETE' })
  return measureFootprint()
}

/** The key that encrypts credentials, in every encoding. */
function keyTexts({ delivery: { credentialKeys } }: TestService): string[] {
  const { current } = credentialKeys
  return (['hex', 'base64', 'base64url'] as const).map(form => current.toString(form))
}

/** The responses that the requests reached; the same for the same seed. */
function reportCoverage(test: TestContext, { coverage }: FuzzResult): void {
  for (const line of coverage.toLines()) test.diagnostic(line)
}

const ERRORS_MAX = 3

/** Errors that the service logged. A 502 reports the refusal of a platform. */
function findLoggedErrors(log: string): string[] {
  const isError = (line: string) =>
    /"level":"(warn|error|fatal)"/.test(line) && !line.includes('"status":502')
  return log.split('\n').filter(isError).slice(0, ERRORS_MAX)
}

/** If authentication refused every request, this suite would prove nothing. */
function assertReached({ coverage }: FuzzResult): void {
  for (const { operationId } of documentOperations) {
    const statuses = [...coverage.countsOf(operationId).keys()]
    assert.ok(
      statuses.some(status => status < 300),
      `no request to ${operationId} succeeded: add its members to testing/fuzz/realistic-values.ts`,
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

/** The ledger contains exactly the acknowledged events, and they can be delivered. */
async function assertKept(service: TestService, story: FuzzResult): Promise<void> {
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
