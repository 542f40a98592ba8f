import { createSecretKey, randomBytes } from 'node:crypto'
import { KEYED_WITHDRAWALS_MARKER } from '../../service/signals/events/person-identifiers.ts'
import type { EventDraft } from '../../service/signals/ingestion/event-draft.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { type BenchStore, openBenchStore } from './bench-store.ts'
import { describeMachine } from './machine.ts'
import { readProcessTreeSeconds } from './process-cost.ts'
import { createPurchaseDraft } from './purchase-drafts.ts'
import { formatFigure, formatTable, type Measure, readMedian } from './report-format.ts'
import { readWalPosition } from './store-statistics.ts'
import { createPurchaseCommitter } from './stored-deliveries.ts'

/** What PostgreSQL spends on groups of one kind. */
interface Scenario {
  name: string
  /** Events of a commit. */
  size: number
  trackers: number
  /** Visitors that come back with the click IDs that their sessions have; none: all are new. */
  visitors?: number
  /** The trackers have a withdrawal and an erasure, so each event is checked by its digests. */
  isChecked?: true
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'new visitors, groups of 128', size: 128, trackers: 1 },
  { name: 'new visitors, groups of 512', size: 512, trackers: 1 },
  { name: 'returning visitors, groups of 128', size: 128, trackers: 1, visitors: 1_000 },
  { name: '100 trackers, groups of 128', size: 128, trackers: 100 },
  { name: 'after a withdrawal, groups of 128', size: 128, trackers: 1, isChecked: true },
]

/** What one event of a round cost. */
interface Cost {
  cpuMicroseconds: number | null
  walBytes: number
  buffersHit: number
  buffersDirtied: number
  statementMicroseconds: number
}

const MEASURES: readonly Measure<Cost>[] = [
  { name: 'CPU us', digits: 1, read: cost => cost.cpuMicroseconds },
  { name: 'statement us', digits: 1, read: cost => cost.statementMicroseconds },
  { name: 'WAL bytes', digits: 0, read: cost => cost.walBytes },
  { name: 'buffers hit', digits: 1, read: cost => cost.buffersHit },
  { name: 'dirtied', digits: 2, read: cost => cost.buffersDirtied },
]

/**
 * What PostgreSQL spends to accept an event: groups of drafts are committed without HTTP, one in
 * flight. The scenarios alternate in each round. CPU is that of all its processes.
 */
export async function measureCommits(plan: BenchPlan, closers: Closers): Promise<BenchFindings> {
  const store = await openBenchStore({ shared_preload_libraries: 'pg_stat_statements' })
  closers.push(store.close)
  await store.database.pool.query('create extension pg_stat_statements schema public')
  const machine = await describeMachine(store.database, store.dataDirectory)
  const loads: CommitLoad[] = []
  for (const scenario of SCENARIOS) loads.push(await prepareLoad(store, scenario))
  const costs = new Map<CommitLoad, Cost[]>(loads.map(load => [load, []]))
  let committed = 0
  for (const load of loads) committed += await commitFor(load, plan.warmUpSeconds)
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const load of loads) {
      const { events, cost } = await measureLoad(store, load, plan.seconds)
      costs.get(load)?.push(cost)
      committed += events
    }
  }
  const { rows } = await store.database.pool.query('select count(*)::integer as events from events')
  const { events } = rows[0] as { events: number }
  const faults = events === committed ? [] : [`${committed} were committed, ${events} are stored.`]
  const head = ['one event', ...MEASURES.map(({ name }) => name)]
  const table = [...costs].map(([{ scenario }, ofLoad]) => [
    scenario.name,
    ...MEASURES.map(measure => formatFigure(readMedian(measure, ofLoad), measure.digits)),
  ])
  return { text: `${machine}\n\n${formatTable([head, ...table])}`, faults }
}

interface CommitLoad {
  scenario: Scenario
  /** Commits the next group. */
  commitGroup: () => Promise<void>
}

async function prepareLoad(store: BenchStore, scenario: Scenario): Promise<CommitLoad> {
  const { size, trackers, visitors, isChecked } = scenario
  const trackerIds: string[] = []
  while (trackerIds.length < trackers) trackerIds.push((await store.newTracker()).trackerId)
  if (isChecked) await blockPerson(store, trackerIds)
  const key = createSecretKey(randomBytes(32))
  const commit = createPurchaseCommitter(store.database, async () => key)
  const run = randomBytes(6).toString('hex')
  let count = 0
  const commitGroup = async () => {
    const drafts = Array.from({ length: size }, (_, index) => {
      count += 1
      const trackerId = trackerIds[index % trackers] as string
      const purchase = { trackerId, count, run, at: new Date() }
      return visitors === undefined
        ? createPurchaseDraft(purchase)
        : createLaterDraft(purchase, count % visitors)
    })
    const outcomes = await commit(drafts)
    if (outcomes.some(({ isNew }) => !isNew)) throw new Error('a purchase was not new')
  }
  return { scenario, commitGroup }
}

/** The next purchase of a visitor. */
function createLaterDraft(
  purchase: Parameters<typeof createPurchaseDraft>[0],
  visitor: number,
): EventDraft {
  const { eventId, bodyDigest, order, orderKey } = createPurchaseDraft(purchase)
  const first = createPurchaseDraft({ ...purchase, count: visitor })
  return { ...first, eventId, bodyDigest, order, orderKey }
}

/** A person of no other event. */
async function blockPerson({ database }: BenchStore, trackerIds: string[]): Promise<void> {
  for (const trackerId of trackerIds) {
    await database.pool.query(
      `insert into erased_identifiers (tracker_id, keyed_digest, erased_at)
       values ($1::uuid, sha256('a person'), now())`,
      [trackerId],
    )
    await database.pool.query(
      `insert into consent_withdrawals (tracker_id, visitor_id, withdrawn_at)
       values ($1::uuid, $2::text, now())`,
      [trackerId, KEYED_WITHDRAWALS_MARKER],
    )
  }
}

async function commitFor({ scenario, commitGroup }: CommitLoad, seconds: number): Promise<number> {
  const endsAt = performance.now() + seconds * 1_000
  let events = 0
  do {
    await commitGroup()
    events += scenario.size
  } while (performance.now() < endsAt)
  return events
}

async function measureLoad(
  store: BenchStore,
  load: CommitLoad,
  seconds: number,
): Promise<{ events: number; cost: Cost }> {
  const before = await readTotals(store)
  const events = await commitFor(load, seconds)
  const after = await readTotals(store)
  const perEvent = (read: (totals: Totals) => number) => (read(after) - read(before)) / events
  const cost = {
    cpuMicroseconds:
      before.cpuSeconds === null ? null : perEvent(totals => (totals.cpuSeconds ?? 0) * 1e6),
    walBytes: perEvent(totals => totals.walBytes),
    buffersHit: perEvent(totals => totals.buffersHit),
    buffersDirtied: perEvent(totals => totals.buffersDirtied),
    statementMicroseconds: perEvent(totals => totals.statementMilliseconds * 1e3),
  }
  return { events, cost }
}

interface Totals {
  /** Null without /proc. */
  cpuSeconds: number | null
  walBytes: number
  buffersHit: number
  buffersDirtied: number
  statementMilliseconds: number
}

/** Of the statements that write events, all else is what they cause elsewhere. */
async function readTotals({ database, processId }: BenchStore): Promise<Totals> {
  const { rows } = await database.pool.query(
    `select coalesce(sum(shared_blks_hit), 0)::bigint as "buffersHit",
       coalesce(sum(shared_blks_dirtied), 0)::bigint as "buffersDirtied",
       coalesce(sum(total_exec_time), 0) as "statementMilliseconds"
     from pg_stat_statements where query like '%insert into events (%'`,
  )
  const { bytes: walBytes } = await readWalPosition(database)
  return { ...rows[0], walBytes, cpuSeconds: readProcessTreeSeconds(processId) }
}
