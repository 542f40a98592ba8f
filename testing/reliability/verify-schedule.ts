import { verifyProposalRecords } from '../../service/agents/proposals/verify-records.ts'
import { deriveAuditKeys } from '../../service/audit/signed-head.ts'
import { verifyChains } from '../../service/audit/verify-chains.ts'
import { openDatabase } from '../../service/runtime/db/database.ts'
import { checkReceipts, STATUS_OPENINGS } from '../simulation/delivery/explanation-checks.ts'
import { groupCopies, listCopies, takesAnyone } from './campaign-platforms.ts'
import {
  checkEvents,
  countUnknown,
  FINAL_STATUSES,
  type Receipts,
  type StoredEvent,
} from './check-events.ts'
import type { EventLoad } from './event-load.ts'
import type { Installation } from './installation.ts'

export interface Verification {
  /** One sentence for each; empty when everything is as promised. */
  violations: string[]
  /** Copies that the platforms received, beyond one of each event. */
  repeats: number
}

interface VerificationOptions {
  load: EventLoad
  prefix: string
  /** Acknowledged erasures of all schedules on this installation. */
  erasures: number
}

/** Compares what clients were told, what the store has and what the platforms received. */
export async function verifySchedule(
  installation: Installation,
  { load, prefix, erasures }: VerificationOptions,
): Promise<Verification> {
  const violations = load.unexpectedResponses.map(response => `unexpected response: ${response}`)
  let repeats = 0
  for (const platform of installation.destinations.keys()) {
    const stored = await readStoredEvents(installation, { prefix, platform })
    const copies = await listCopies(installation.simulator.url, platform)
    const { receipts, counted } = groupCopies(copies)
    const finalStatuses = takesAnyone(platform)
      ? { ...FINAL_STATUSES, incomplete: ['accepted'] }
      : FINAL_STATUSES
    const problems = [
      ...checkEvents(load.events, stored, { receipts, finalStatuses }),
      ...checkCounted(stored, counted),
      ...(await checkExplanations(installation, { platform, stored, receipts })),
    ]
    violations.push(...problems.map(problem => `${platform}: ${problem}`))
    repeats += [...receipts.values()].flat().length - receipts.size
  }
  violations.push(
    ...(await checkRequestReceipts(installation, prefix)),
    ...(await checkAudit(installation, erasures)),
    ...[...installation.processes.values()].flatMap(({ unexpectedEnds }) =>
      unexpectedEnds.splice(0),
    ),
  )
  return { violations, repeats }
}

async function readStoredEvents(
  { store }: Installation,
  { prefix, platform }: { prefix: string; platform: string },
): Promise<StoredEvent[]> {
  const rows = await store.query(
    `select event.event_id, event.value_amount, delivery.status, delivery.attempt_count,
       delivery.platform_trace_id,
       array(select attempt.outcome from unnest(delivery.attempt_ids) with ordinality named(id, n)
         left join send_attempts attempt using (id) order by n) as outcomes
     from events event left join (
       all_deliveries delivery join destinations destination
         on destination.tracker_id = delivery.tracker_id
         and destination.id = delivery.destination_id and destination.type = $2
     ) on delivery.tracker_id = event.tracker_id and delivery.event_id = event.event_id
     where event.event_id like $1`,
    [`${prefix}-%`, platform],
  )
  return rows.map(row => ({
    eventId: String(row.event_id),
    status: row.status as string | null,
    attemptCount: Number(row.attempt_count ?? 0),
    traceId: row.platform_trace_id as string | null,
    outcomes: (row.outcomes ?? []) as string[],
    value: String(row.value_amount),
  }))
}

/** The platform's own key, `event_id` or `transactionId`, makes one of all copies. */
function checkCounted(
  stored: readonly StoredEvent[],
  counted: ReadonlyMap<string, number>,
): string[] {
  return stored.flatMap(({ eventId, status }) => {
    const times = counted.get(eventId) ?? 0
    const isRight = times === 1 || (times === 0 && status !== 'accepted')
    return isRight ? [] : [`${eventId} (${status}): counted ${times} times`]
  })
}

/** An accepted delivery to Google Ads leads to its request, whose result is known. */
async function checkRequestReceipts({ store }: Installation, prefix: string): Promise<string[]> {
  const rows = await store.query(
    `select delivery.event_id, receipt.state
     from all_deliveries delivery
     join destinations destination on destination.tracker_id = delivery.tracker_id
       and destination.id = delivery.destination_id and destination.type = 'google_ads'
     left join request_receipts receipt on receipt.tracker_id = delivery.tracker_id
       and receipt.id = delivery.attempt_ids[array_upper(delivery.attempt_ids, 1)]
     where delivery.event_id like $1 and delivery.status = 'accepted'
       and coalesce(receipt.state not in ('succeeded', 'partially_succeeded'), true)`,
    [`${prefix}-%`],
  )
  return rows.map(({ event_id, state }) => `${event_id}: its request is ${state ?? 'not known'}`)
}

const SAMPLE_SIZE = 40

interface ReadEvents {
  platform: string
  stored: readonly StoredEvent[]
  receipts: Receipts
}

/** Reads events as their tracker does: all that had trouble, and some of the others. */
async function checkExplanations(
  { origins, credentials, destinations }: Installation,
  { platform, stored, receipts }: ReadEvents,
): Promise<string[]> {
  const hadTrouble = (event: StoredEvent) => event.status !== 'accepted' || event.attemptCount > 1
  const sampled = [
    ...stored.filter(hadTrouble).slice(0, 2 * SAMPLE_SIZE),
    ...stored.filter(event => !hadTrouble(event)).slice(0, SAMPLE_SIZE),
  ]
  const problems: string[] = []
  for (const event of sampled) {
    const response = await fetch(`${origins[0]}/api/v1/events/${event.eventId}`, {
      headers: { authorization: `Bearer ${credentials.tracker_secret}` },
    })
    const body = (await response.json()) as { deliveries?: ReadDelivery[] }
    const id = destinations.get(platform)
    const own = body.deliveries?.find(({ destination_id }) => destination_id === id)
    const text = own?.explanation ?? ''
    const facts = {
      status: event.status ?? '',
      copies: receipts.get(event.eventId)?.length ?? 0,
      unknownAttempts: countUnknown(event),
      isTestPurchase: false,
    }
    const untrue = checkReceipts(text, facts)
    if (!STATUS_OPENINGS[facts.status]?.test(text)) untrue.push('does not fit the status')
    problems.push(...untrue.map(what => `${event.eventId} (${event.status}): ${what}: ${text}`))
  }
  return problems
}

interface ReadDelivery {
  destination_id: string | null
  explanation: string
}

/** Every log is whole, and has an entry for each acknowledged erasure. */
async function checkAudit(installation: Installation, erasures: number): Promise<string[]> {
  const { store, credentialKey, dataFolder } = installation
  const database = openDatabase({
    connectionString: store.connectionString,
    connectionsMax: 2,
    applicationName: 'reliability',
    onIdleError: () => {},
  })
  const keys = deriveAuditKeys({ current: Buffer.from(credentialKey, 'hex'), previous: [] })
  const context = {
    database,
    keys,
    dataDirectory: dataFolder,
    now: new Date(),
    verifyRecords: verifyProposalRecords,
    onCheckpointError: () => {},
  }
  try {
    const problems: string[] = []
    for await (const chain of verifyChains(context, { workspaceId: null, trustedHead: null })) {
      if (chain.broken_at !== null) problems.push(`audit log: ${chain.finding}`)
    }
    const [counted] = await store.query(
      "select count(*)::int as entries from audit_entries where action = 'user_data.erased'",
    )
    const entries = Number(counted?.entries)
    if (entries < erasures) problems.push(`audit log: ${entries} of ${erasures} erasures`)
    return problems
  } finally {
    await database.close()
  }
}
