import { hash } from 'node:crypto'
import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import type { Database } from '../../service/runtime/db/database.ts'
import { arrayLiteral } from '../../service/runtime/db/sql-fragments.ts'
import { indexKey, listIdentifierDigests } from '../../service/signals/events/person-identifiers.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { startServiceProcess } from './child-processes.ts'
import { storeListedEvents, vacuumStore } from './listed-events.ts'
import { describeMachine } from './machine.ts'
import { formatAim, formatFigure, formatTable } from './report-format.ts'

interface ErasureFigures {
  machine: string
  /** One per size, smallest first. */
  sizes: ErasureSize[]
}

interface ErasureSize {
  events: number
  erasures: Erasure[]
}

interface Erasure extends StoredPerson {
  /** Number of events in the receipt; null without a receipt. */
  erasedEvents: number | null
  milliseconds: number
}

/** Warm-up erasures of unknown people, so that no figure includes process startup. */
const WARM_UP_ERASURES = 20

/** Erases people of trackers of different sizes in one store, one request at a time. */
export async function measureErasure(
  { erasure }: BenchPlan,
  closers: Closers,
): Promise<ErasureFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const { database, dataDirectory } = store
  const machine = await describeMachine(database, dataDirectory)
  const trackers = []
  for (const events of erasure.events) {
    const tracker = await store.newTracker()
    await storeListedEvents(database, tracker, { count: events })
    const plan = { count: events, persons: erasure.persons }
    trackers.push({ ...tracker, events, persons: await storePersons(database, tracker, plan) })
  }
  await vacuumStore(database)
  const service = await startServiceProcess({ role: 'serve', dataDirectory })
  closers.push(service.stop)
  const sizes: ErasureSize[] = []
  for (const { events, trackerSecret, persons } of trackers) {
    const target = { origin: service.url, trackerSecret }
    for (let stranger = 0; stranger < WARM_UP_ERASURES; stranger += 1) {
      await erase(target, { digest: hash('sha256', `stranger-${stranger}`), events: 0 })
    }
    const erasures: Erasure[] = []
    for (const user of persons) erasures.push(await erase(target, user))
    sizes.push({ events, erasures })
  }
  return { machine, sizes }
}

async function erase(
  { origin, trackerSecret }: { origin: string; trackerSecret: string },
  user: StoredPerson,
): Promise<Erasure> {
  const start = performance.now()
  const response = await fetch(`${origin}/api/v1/user-data`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${trackerSecret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ identifier_hash: user.digest, identifier_type: 'email' }),
  })
  const receipt = (await response.json()) as { events_updated?: number }
  const milliseconds = performance.now() - start
  return { ...user, erasedEvents: receipt.events_updated ?? null, milliseconds }
}

const AIM = { limit: 100, direction: 'at most' } as const

/** A row per size; each erasure is one request for a person with 1 to 30 events. */
export function reportErasure({ machine, sizes }: ErasureFigures): BenchFindings {
  const rows = sizes.map(size => {
    const p99 = percentile(size, 0.99)
    const label = `${size.erasures.length} people among ${formatFigure(size.events, 0)} events`
    return [
      label,
      formatFigure(countErased(size), 0),
      formatFigure(percentile(size, 0.5), 1),
      formatFigure(p99, 1),
      formatAim(AIM, p99),
    ]
  })
  const text = [
    machine,
    'sequential requests over one connection, milliseconds',
    '',
    formatTable([['', 'events', 'p50', 'p99', ''], ...rows]),
    '',
    ...formatGrowth(sizes),
  ].join('\n')
  return { text, faults: sizes.flatMap(findFaults) }
}

function percentile({ erasures }: ErasureSize, share: number): number {
  const sorted = erasures.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0
}

function countErased({ erasures }: ErasureSize): number {
  return erasures.reduce((sum, { erasedEvents }) => sum + (erasedEvents ?? 0), 0)
}

function formatGrowth(sizes: readonly ErasureSize[]): string[] {
  const [smallest, largest] = [sizes[0], sizes.at(-1)]
  if (!smallest || !largest || smallest === largest) return []
  const times = (share: number) =>
    formatFigure(percentile(largest, share) / percentile(smallest, share), 2)
  return [`p50 grows ${times(0.5)} times, p99 ${times(0.99)} times`]
}

function findFaults({ events, erasures }: ErasureSize): string[] {
  return erasures
    .filter(erasure => erasure.erasedEvents !== erasure.events)
    .map(
      erasure =>
        `For a person with ${erasure.events} of ${events} events, the receipt has ` +
        `${erasure.erasedEvents}.`,
    )
}

/** A person to erase. */
interface StoredPerson {
  /** Digest of the email address. */
  digest: string
  events: number
}

interface PersonsPlan {
  /** Number of events of the tracker; they are numbered from 0 in order of receipt. */
  count: number
  persons: number
}

const EVENTS_OF_PERSON_MAX = 30
/** Coprime to the maximum, so that every number of events occurs. */
const STRIDE = 7

/** From 1 to 30. */
export function eventsOfPerson(user: number): number {
  return 1 + ((user * STRIDE) % EVENTS_OF_PERSON_MAX)
}

/**
 * Assigns listed events to people: each person gets events of all days, with one email address, one
 * visitor ID and a session. A tracker needs thirty events per person; with fewer events there are
 * fewer people.
 */
export async function storePersons(
  { pool }: Database,
  { trackerId }: ProvisionedTracker,
  { count, persons }: PersonsPlan,
): Promise<StoredPerson[]> {
  const step = Math.floor(count / EVENTS_OF_PERSON_MAX)
  const named = Array.from({ length: Math.min(persons, step) }, (_, user) => {
    const numbers = Array.from({ length: eventsOfPerson(user) }, (_, at) => user + at * step)
    const digest = hash('sha256', `person-${user}@shop.example`)
    return { visitorId: `person-${user}`, digest, numbers }
  })
  const rows = named.flatMap(({ numbers, visitorId, digest }) => {
    const keys = listIdentifierDigests({ visitorId, digests: { em: [digest] } }).map(key =>
      indexKey(trackerId, key),
    )
    const identity = { visitorId, digest, keys: `{${keys.join(',')}}` }
    return numbers.map(number => ({ ...identity, eventId: hash('md5', String(number)) }))
  })
  await pool.query(NAME_EVENTS, [
    trackerId,
    arrayLiteral(rows.map(({ eventId }) => eventId)),
    arrayLiteral(rows.map(({ visitorId }) => visitorId)),
    arrayLiteral(rows.map(({ digest }) => digest)),
    arrayLiteral(rows.map(({ keys }) => keys)),
  ])
  await pool.query(INSERT_SESSIONS, [
    trackerId,
    arrayLiteral(named.map(({ visitorId }) => visitorId)),
  ])
  return named.map(({ digest, numbers }) => ({ digest, events: numbers.length }))
}

const NAME_EVENTS = `
  update event_payloads payload set
    visitor_id = named.visitor_id,
    user_data = json_build_object('digests', json_build_object('em', array[named.digest]),
      'plain', json_build_object('client_user_agent', 'Mozilla/5.0')),
    identifier_keys = named.keys::integer[]
  from unnest($2::text[], $3::text[], $4::text[], $5::text[])
    as named(event_id, visitor_id, digest, keys)
  where payload.tracker_id = $1 and payload.event_id = named.event_id`

const INSERT_SESSIONS = `
  insert into sessions (tracker_id, visitor_id, first_seen_at, last_seen_at, click_ids)
  select $1, visitor_id, now(), now(), '{}' from unnest($2::text[]) as visitor_id`
