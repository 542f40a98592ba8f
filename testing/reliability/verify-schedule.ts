import { verifyProposalRecords } from '../../service/agents/proposals/verify-records.ts'
import { deriveAuditKeys } from '../../service/audit/signed-head.ts'
import { verifyChains } from '../../service/audit/verify-chains.ts'
import { openDatabase } from '../../service/runtime/db/database.ts'
import { listReceipts } from '../fixtures/simulator.ts'
import { checkReceipts, STATUS_OPENINGS } from '../simulation/delivery/explanation-checks.ts'
import { checkEvents, countUnknown, type Receipts, type StoredEvent } from './check-events.ts'
import type { EventLoad } from './event-load.ts'
import type { Installation } from './installation.ts'

export interface Verification {
  /** One sentence for each; empty when everything is as promised. */
  violations: string[]
  /** Copies that the platform received, beyond one of each event. */
  repeats: number
}

interface VerificationOptions {
  load: EventLoad
  prefix: string
  /** Acknowledged erasures of all schedules on this installation. */
  erasures: number
}

/** Compares what clients were told, what the store has and what the platform received. */
export async function verifySchedule(
  installation: Installation,
  { load, prefix, erasures }: VerificationOptions,
): Promise<Verification> {
  const stored = await readStoredEvents(installation, prefix)
  const receipts = await readReceipts(installation)
  const violations = [
    ...load.unexpectedResponses.map(response => `unexpected response: ${response}`),
    ...checkEvents(load.events, stored, receipts),
    ...(await checkExplanations(installation, stored, receipts)),
    ...(await checkAudit(installation, erasures)),
    ...[...installation.processes.values()].flatMap(({ unexpectedEnds }) =>
      unexpectedEnds.splice(0),
    ),
  ]
  const copies = [...receipts.values()].flat().length
  return { violations, repeats: copies - receipts.size }
}

async function readStoredEvents({ store }: Installation, prefix: string): Promise<StoredEvent[]> {
  const rows = await store.query(
    `select event.event_id, event.value_amount, delivery.status, delivery.attempt_count,
       delivery.platform_trace_id,
       array(select attempt.outcome from unnest(delivery.attempt_ids) with ordinality named(id, n)
         left join send_attempts attempt using (id) order by n) as outcomes
     from events event left join all_deliveries delivery
       on delivery.tracker_id = event.tracker_id and delivery.event_id = event.event_id
     where event.event_id like $1`,
    [`${prefix}-%`],
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

async function readReceipts({ simulator }: Installation): Promise<Receipts> {
  const receipts = new Map<string, string[]>()
  for (const { event_id, request_id } of await listReceipts(simulator.url)) {
    receipts.set(event_id, [...(receipts.get(event_id) ?? []), request_id])
  }
  return receipts
}

const SAMPLE_SIZE = 40

/** Reads events as their tracker does: all that had trouble, and some of the others. */
async function checkExplanations(
  { origins, credentials }: Installation,
  stored: readonly StoredEvent[],
  receipts: Receipts,
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
    const body = (await response.json()) as { deliveries?: { explanation: string }[] }
    const text = body.deliveries?.[0]?.explanation ?? ''
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
