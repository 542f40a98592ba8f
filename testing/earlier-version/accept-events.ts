import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BatchColumn, toArrayParameters } from '../../service/runtime/db/sql-fragments.ts'
import { digestVisitorId, legacyIndexKey } from '../../service/signals/events/person-identifiers.ts'

/** An event as version 0.5 stores it, with its deliveries. */
export interface EarlierEvent {
  trackerId: string
  eventId: string
  createdAt: Date
  visitorId: string
  /** The digest of an email address. */
  email: string
  deliveries: readonly EarlierDelivery[]
  isWithdrawal?: boolean
  /** Stored without index keys, like payloads of versions before 0.4. */
  isUnindexed?: boolean
}

export interface EarlierDelivery {
  id: number
  destinationId: string
  status: string
}

export const ACCEPT_EVENTS = readFileSync(join(import.meta.dirname, 'accept-events.sql'), 'utf8')

/** The identity of a person as earlier versions store it: it names no platform. */
export function encodeEarlierUserData(email: string): string {
  return JSON.stringify({ digests: { em: [email] }, plain: {} })
}

/** The parameters of `accept-events.sql`, in its order. */
export function buildAcceptanceValues(events: readonly EarlierEvent[]): string[] {
  const sorted = events.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const withdrawals = sorted.filter(({ isWithdrawal }) => isWithdrawal)
  const plans = sorted.flatMap(event =>
    event.deliveries.map(delivery => ({ ...event, ...delivery })),
  )
  return [
    ...toArrayParameters(EVENT_COLUMNS, sorted),
    ...toArrayParameters(PAYLOAD_COLUMNS, sorted),
    ...toArrayParameters(SIGHTING_COLUMNS, sorted),
    ...toArrayParameters([...KEY, VISITOR], withdrawals),
    // No optimistic checks, so the statement finds no conflict.
    ...['{}', '{}', '{}', '{}', '{}', '{}', '{}'],
    ...toArrayParameters(PLAN_COLUMNS, plans),
  ]
}

function keyOf({ trackerId, eventId }: EarlierEvent): string {
  return `${trackerId} ${eventId}`
}

const KEY: BatchColumn<EarlierEvent>[] = [
  { name: 'tracker_id', type: 'uuid', text: ({ trackerId }) => trackerId },
  { name: 'event_id', type: 'text', text: ({ eventId }) => eventId },
]
const VISITOR: BatchColumn<EarlierEvent> = {
  name: 'visitor_id',
  type: 'text',
  text: ({ visitorId }) => visitorId,
}
const CREATED_AT: BatchColumn<EarlierEvent> = {
  name: 'created_at',
  type: 'timestamptz',
  text: ({ createdAt }) => createdAt.toISOString(),
}

function constant(type: string, value: string | null): BatchColumn<EarlierEvent> {
  return { name: 'constant', type, text: () => value }
}

const EVENT_COLUMNS: BatchColumn<EarlierEvent>[] = [
  ...KEY,
  CREATED_AT,
  constant('timestamptz', null),
  ...['Purchase', 'conversion', 'website', 'consent', 'advertising', 'allowed', 'event', '1'].map(
    value => constant('text', value),
  ),
  constant('timestamptz', null),
  constant('text', 'https://shop.example/'),
  constant('text', null),
  constant('text', null),
  constant('numeric', '19.90'),
  constant('text', 'EUR'),
  ...[1, 2, 3].map(() => constant('json', null)),
  {
    name: 'body_digest',
    type: 'bytea',
    text: event => `\\x${createHash('sha256').update(keyOf(event)).digest('hex')}`,
  },
]

const PAYLOAD_COLUMNS: BatchColumn<EarlierEvent>[] = [
  ...KEY,
  VISITOR,
  {
    name: 'user_data',
    type: 'json',
    text: ({ email }) => encodeEarlierUserData(email),
  },
  constant('json', '{}'),
  constant('text', null),
  {
    name: 'identifier_keys',
    type: 'text',
    text: ({ email, visitorId, isUnindexed }) =>
      isUnindexed
        ? '{0}'
        : `{${legacyIndexKey(email)},${legacyIndexKey(digestVisitorId(visitorId))}}`,
  },
]

const SIGHTING_COLUMNS: BatchColumn<EarlierEvent>[] = [
  ...KEY,
  VISITOR,
  constant('integer', '1'),
  constant('timestamptz', null),
  constant('text', null),
  constant('json', '{}'),
]

interface Planned extends EarlierEvent, EarlierDelivery {}

const PLAN_COLUMNS: BatchColumn<Planned>[] = [
  ...KEY,
  { name: 'id', type: 'integer', text: ({ id }) => String(id) },
  { name: 'destination_id', type: 'uuid', text: ({ destinationId }) => destinationId },
  { name: 'status', type: 'text', text: ({ status }) => status },
  { name: 'status_reason', type: 'text', text: () => 'planned' },
  { name: 'is_test', type: 'boolean', text: () => 'f' },
  CREATED_AT,
  { name: 'due_at', type: 'timestamptz', text: () => null },
]
