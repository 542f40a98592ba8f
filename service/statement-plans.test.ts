import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createMigratedDatabase, createTestDatabase } from '../testing/fixtures/database.ts'
import { isShortRun } from '../testing/fixtures/seeded-random.ts'
import { generateCounts } from '../testing/performance/dashboard-statements.ts'
import { HOT_STATEMENTS } from '../testing/performance/hot-statements.ts'
import { analyzeStore, createTrackers, generateEvents } from '../testing/performance/large-store.ts'
import {
  findPlanProblems,
  type RecordedDatabase,
  recordPlans,
} from '../testing/performance/query-plans.ts'

/**
 * Events in the store at the first measurement; there are ten times as many at the second. A scan
 * of a table fails in the smaller store of `npm test` too; below 10,000 events, statements that
 * read 1,000 rows find fewer than that.
 */
const EVENTS = Number(process.env.SIGNALBOX_PLAN_EVENTS ?? (isShortRun() ? 10_000 : 20_000))

/** A prepared statement may settle on a generic plan after five executions. */
const EARLY_RUNS = 6

interface StatisticsState {
  title: string
  /** The store was analyzed when it had so many events, and never again; null: it never was. */
  analyzedAt: number | null
  /** And again before every measurement. */
  isCurrent?: boolean
}

const STATES: StatisticsState[] = [
  { title: 'never analyzed', analyzedAt: null },
  { title: 'analyzed at 60 events', analyzedAt: 60 },
  { title: 'analyzed at 600 events', analyzedAt: 600 },
  { title: 'analyzed at a tenth of the size', analyzedAt: EVENTS },
  { title: 'analyzed at full size', analyzedAt: EVENTS, isCurrent: true },
]

/**
 * What grows within a bound of its own: 50,000 waiting deliveries or failures, 10,000 withdrawals of
 * pages, and the 4 MB of payloads that a GIN index has not merged yet.
 */
const GROWS = new Set([
  'count what waits of a day',
  'count what waits by reason',
  'count withdrawals of guessable visitors',
  'stop what waits of a visitor',
  'find payloads by digest',
  'find where payloads are',
  'find payloads of a visitor',
  'read the progress of a replay',
])

/** In `npm test`, the two in which most plans have been wrong. */
const CHOSEN_STATES = isShortRun() ? STATES.slice(0, 2) : STATES

describe('plans of hot statements', () => {
  for (const state of CHOSEN_STATES) {
    it(`read only what they need in a store ${state.title}`, async test => {
      const { connectionString } = await createTestDatabase(test)
      await checkPlans(test, connectionString, state)
    })
  }
})

const OLDEST_SERVER = process.env.TEST_DATABASE_URL_15
const skip = OLDEST_SERVER ? false : 'TEST_DATABASE_URL_15 names no PostgreSQL 15'

describe('plans of hot statements on PostgreSQL 15', { skip }, () => {
  for (const state of STATES) {
    it(`read only what they need in a store ${state.title}`, async test => {
      const url = await createMigratedDatabase(test, OLDEST_SERVER as string)
      await checkPlans(test, url, state)
    })
  }
})

async function checkPlans(
  test: TestContext,
  connectionString: string,
  { analyzedAt, isCurrent }: StatisticsState,
) {
  const session = recordPlans(connectionString)
  test.after(() => session.database.close())
  const { database } = session
  await createTrackers(database)
  await generateCounts(database)

  let size = 0
  const growTo = async (until: number) => {
    await generateEvents(database, { from: size + 1, until: until + 1 })
    size = until
  }
  if (analyzedAt !== null) {
    await growTo(analyzedAt)
    await analyzeStore(database)
  }
  for (let run = 0; run < EARLY_RUNS; run += 1) await runAll(session)

  await growTo(Math.max(size, EVENTS) + 1_000)
  if (isCurrent) await analyzeStore(database)
  const small = await runAll(session)
  await growTo(EVENTS * 10)
  if (isCurrent) await analyzeStore(database)
  const large = await runAll(session)
  const fresh = recordPlans(connectionString)
  const unprepared = await runAll(fresh).finally(() => fresh.database.close())

  const faults = [...faultsOf(small), ...faultsOf(large), ...faultsOf(unprepared)]
  for (const [name, { buffers }] of large) {
    const before = small.get(name)?.buffers ?? 0
    if (GROWS.has(name) || buffers <= 1.5 * before + 200) continue
    faults.push(`${name}: ${before} buffers, then ${buffers} in a store ten times as large`)
  }
  assert.deepEqual([...new Set(faults)], [])
}

interface Execution {
  buffers: number
  faults: string[]
}

async function runAll({ database, takePlans }: RecordedDatabase): Promise<Map<string, Execution>> {
  const executions = new Map<string, Execution>()
  for (const [name, run] of Object.entries(HOT_STATEMENTS)) {
    takePlans()
    // There is one connection, so this is around everything, and each finds the store as it was.
    await database.pool.query('begin')
    await run(database)
    await database.pool.query('rollback')
    const plans = takePlans()
    assert.ok(plans.length > 0, `${name} executes a statement`)
    executions.set(name, {
      buffers: plans.reduce((sum, { buffers }) => sum + buffers, 0),
      faults: plans.flatMap(findPlanProblems),
    })
  }
  return executions
}

function faultsOf(executions: Map<string, Execution>): string[] {
  return [...executions].flatMap(([name, { faults }]) => faults.map(fault => `${name}: ${fault}`))
}
