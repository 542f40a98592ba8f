import { randomBytes, randomUUID } from 'node:crypto'
import { REPLAY_LIMIT_DEFAULT } from '@signalbox/contract/replays.ts'
import type { Database } from '../../service/runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../service/runtime/util/time.ts'
import { replayFailed } from '../../service/signals/delivery/replay-store.ts'
import { erasePerson } from '../../service/signals/erasure/erase-person.ts'
import {
  listEvents as listWithMetrics,
  readEvent,
} from '../../service/signals/event-reads/read-events.ts'
import { indexListPositions } from '../../service/signals/events/list-position-store.ts'
import { listEventRefs } from '../../service/signals/events/list-store.ts'
import { IDENTIFYING_KEYS } from '../../service/signals/events/person-identifiers.ts'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import { HOT_STATEMENTS } from '../performance/hot-statements.ts'
import { generateEvents, LARGE_TRACKER } from '../performance/large-store.ts'
import { recordPlans } from '../performance/query-plans.ts'
import type { BenchDatabase } from './bench-store.ts'
import { settleStore, storeFailures } from './growth-history.ts'
import { GROWTH_NOW } from './growth-load.ts'
import { createPurchaseDraft } from './purchase-drafts.ts'
import { createPurchaseCommitter } from './stored-deliveries.ts'

export interface Operation {
  name: string
  /** Null if it failed or exceeded the statement timeout. */
  buffers: number | null
  failure: string | null
  isListPage: boolean
}

interface Measured {
  run: (database: Database) => Promise<unknown>
  isListPage?: boolean
  /** Opens its own transactions, so nothing is rolled back; each run uses another person. */
  isKept?: boolean
}

export interface OperationsPlan {
  connectionString: string
  failures: number
  /** The tracker with people to erase, besides the payloads of the large tracker. */
  eraserId: string
}

const PER_PAGE = 25
const DEEP_PAGE = 1_000
/** The first run warms the cache for the second, which is measured. */
const RUNS = 2
/** Rows of `generateEvents`, which the hot statements read. */
const GROWN_EVENTS = 5_000
const PERSON_EVENTS = 30
const FAILURE_DAYS = 5
const FIRST_FAILURE_ID = 2_000_000_000
const OWNER = { trackerId: LARGE_TRACKER, workspaceId: 1 }

/** Adds the rows that the operations need to a store with history, and counts buffers. */
export async function measureOperations(
  database: Database,
  plan: OperationsPlan,
): Promise<Operation[]> {
  const persons = await storeAskedRows(database, plan)
  await writeListPositions(database)
  const total = await countListed(database)
  const [eventId] = await listedIds(database, { page: Math.ceil(total / PER_PAGE / 2), total })
  return measureBuffers(plan.connectionString, {
    ...listPages('list', { total }),
    'list page 1 with deliveries and metrics': { run: recorded => listPage(recorded, 1) },
    [`list page ${DEEP_PAGE} with deliveries and metrics`]: {
      run: recorded => listPage(recorded, DEEP_PAGE),
    },
    'read one event': {
      run: recorded =>
        readEvent(recorded, OWNER, {
          eventId: String(eventId),
          space: null,
          at: new Date(),
          platforms: createOfflinePlatforms(),
        }),
    },
    ...replays(plan.failures),
    'erase an unknown person': {
      isKept: true,
      run: recorded => erase(recorded, plan.eraserId, randomBytes(32).toString('hex')),
    },
    [`erase a person of ${PERSON_EVENTS} events`]: {
      isKept: true,
      run: recorded => erase(recorded, plan.eraserId, persons.pop() as string),
    },
    // Last, because their rolled-back writes leave dead rows.
    ...Object.fromEntries(Object.entries(HOT_STATEMENTS).map(([name, run]) => [name, { run }])),
  })
}

/** The pages of a store with a single day. */
export async function measureDayPages({
  connectionString,
  database,
}: BenchDatabase): Promise<Operation[]> {
  await writeListPositions(database)
  const total = await countListed(database)
  return measureBuffers(connectionString, listPages('a single day', { total }))
}

function listPages(list: string, { total }: { total: number }): Record<string, Measured> {
  const pages = Math.max(1, Math.ceil(total / PER_PAGE))
  const page = (number: number) => ({
    isListPage: true,
    run: (database: Database) => listedIds(database, { page: number, total }),
  })
  return {
    [`${list}: page 1`]: page(1),
    [`${list}: page ${DEEP_PAGE}`]: page(Math.min(DEEP_PAGE, pages)),
    [`${list}: page in the middle`]: page(Math.ceil(pages / 2)),
    [`${list}: last page`]: page(pages),
  }
}

function replays(failures: number): Record<string, Measured> {
  const replay = (eventName: string | null) => ({
    run: (database: Database) =>
      replayFailed(database, {
        trackerId: LARGE_TRACKER,
        deliveryIds: null,
        eventName,
        limit: REPLAY_LIMIT_DEFAULT,
        at: GROWTH_NOW,
        windowEndsAfter: GROWTH_NOW,
      }),
  })
  const title = `replay ${REPLAY_LIMIT_DEFAULT} of ${failures} failures`
  return {
    [title]: replay(null),
    [`${title} by name`]: replay('Purchase'),
    [`${title} by a name that none has`]: replay('Lead'),
  }
}

/** Returns the digest of each person, one per run. */
async function storeAskedRows(database: Database, plan: OperationsPlan): Promise<string[]> {
  await storeFailures(plan.connectionString, {
    trackerId: LARGE_TRACKER,
    count: plan.failures,
    from: new Date(GROWTH_NOW.getTime() - FAILURE_DAYS * DAY_MILLISECONDS),
    until: GROWTH_NOW,
    salt: 'failure',
    firstDeliveryId: FIRST_FAILURE_ID,
  })
  await generateEvents(database, { from: 1, until: GROWN_EVENTS + 1 })
  const persons: string[] = []
  for (let number = 0; number < RUNS; number += 1) {
    persons.push(await storePerson(database, plan.eraserId, number))
  }
  await settleStore(plan.connectionString)
  return persons
}

/** Purchases of one visitor, a day apart, accepted by the service itself. */
async function storePerson(database: Database, trackerId: string, number: number): Promise<string> {
  const run = randomBytes(6).toString('hex')
  const drafts = Array.from({ length: PERSON_EVENTS }, (_, day) => {
    const at = new Date(GROWTH_NOW.getTime() - day * DAY_MILLISECONDS)
    return {
      ...createPurchaseDraft({ trackerId, count: number, run, at }),
      eventId: randomUUID(),
    }
  })
  await createPurchaseCommitter(database)(drafts)
  return drafts[0]?.digests.em?.[0] as string
}

async function erase(database: Database, trackerId: string, digest: string): Promise<void> {
  const toKeyed = (one: string) => one
  const scope = { database, now: () => GROWTH_NOW, suppress: async () => {}, toKeyed }
  await erasePerson(scope, { trackerId, digest, keys: IDENTIFYING_KEYS })
}

/** As acceptance does after a commit, and the hourly job. */
async function writeListPositions(database: Database): Promise<void> {
  await indexListPositions({ database, signal: new AbortController().signal })
}

async function countListed(database: Database): Promise<number> {
  const page = { trackerId: LARGE_TRACKER, offset: 0, limit: 1 }
  return (await listEventRefs(database, page)).total
}

/** Throws if the page is not full, because a shorter page would cost less. */
async function listedIds(
  database: Database,
  { page, total }: { page: number; total: number },
): Promise<string[]> {
  const offset = (page - 1) * PER_PAGE
  const { events } = await listEventRefs(database, {
    trackerId: LARGE_TRACKER,
    offset,
    limit: PER_PAGE,
  })
  const eventIds = events.map(({ eventId }) => eventId)
  if (eventIds.length === Math.min(PER_PAGE, total - offset)) return eventIds
  throw new Error(`page ${page} of ${total} events has ${eventIds.length}`)
}

function listPage(database: Database, page: number): Promise<unknown> {
  return listWithMetrics(database, {
    tracker: OWNER,
    page: { page, perPage: PER_PAGE },
    path: 'https://signalbox.example/api/v1/dashboard/events',
    at: GROWTH_NOW,
  })
}

/** Runs them one after the other on a connection that reports the plan of each statement. */
async function measureBuffers(
  connectionString: string,
  measured: Record<string, Measured>,
): Promise<Operation[]> {
  const { database, takePlans } = recordPlans(connectionString)
  const operations: Operation[] = []
  try {
    for (const [name, { run, isKept, isListPage = false }] of Object.entries(measured)) {
      let failure: string | null = null
      for (let number = 0; number < RUNS; number += 1) {
        takePlans()
        if (!isKept) await database.pool.query('begin')
        failure = await run(database).then(
          () => null,
          error => (error as Error).message,
        )
        if (!isKept) await database.pool.query('rollback')
      }
      const buffers = takePlans().reduce((sum, plan) => sum + plan.buffers, 0)
      operations.push({ name, buffers: failure === null ? buffers : null, failure, isListPage })
    }
  } finally {
    await database.close()
  }
  return operations
}
