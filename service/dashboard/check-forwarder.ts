import { REFUSAL_RULES } from '@signalbox/contract/refusal-rules.ts'
import type { ForwarderCheck } from '@signalbox/contract/session/keys.ts'
import type { Database } from '../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../runtime/util/time.ts'
import { findLastForwarding } from '../signals/access/forwarded-signature-store.ts'
import { listLiveKeys, type TrackerKey } from '../signals/access/key-store.ts'
import { listRefusalCauses } from '../signals/refusals/refusal-store.ts'
import { readForwarderPath } from './describe-forwarder.ts'

interface CheckRequest {
  trackerId: string
  /** With the path in the shop. Not validated. */
  query: unknown
  at: Date
}

/** More causes than a tracker usually has. */
const CAUSES_MAX = 1_000

/**
 * Whether the forwarder of a shop works, by the signed requests that have arrived. The service
 * itself asks no address that a person enters: it could reach what only its own network reaches.
 */
export async function checkForwarder(
  database: Database,
  { trackerId, query, at }: CheckRequest,
): Promise<ForwarderCheck> {
  const command = formatTestCommand(readForwarderPath(query))
  const live = await listLiveKeys(database, trackerId)
  const secrets = live.filter(({ kind }) => kind === 'forwarding')
  const used = secrets.toSorted((one, other) => timeOf(other) - timeOf(one))[0]
  const forwardedAt = await findLastForwarding(database, trackerId)
  const validAt = Math.min(at.getTime(), Math.max(timeOf(used), forwardedAt?.getTime() ?? 0))
  const refused = await findLastRefusal(database, { trackerId, at })
  const isRefused = refused !== null && Date.parse(refused.at) > validAt
  return {
    status:
      secrets.length === 0 ? 'no_secret' : isRefused ? 'refused' : validAt ? 'valid' : 'waiting',
    last_valid_at: validAt ? new Date(validAt).toISOString() : null,
    last_valid_key: timeOf(used) ? (used?.lastCharacters ?? null) : null,
    last_refused: refused,
    test_command: command,
  }
}

function timeOf(key: TrackerKey | undefined): number {
  return key?.lastUsedAt?.getTime() ?? 0
}

async function findLastRefusal(
  database: Database,
  { trackerId, at }: Pick<CheckRequest, 'trackerId' | 'at'>,
): Promise<ForwarderCheck['last_refused']> {
  const from = new Date(at.getTime() - DAY_MILLISECONDS)
  const causes = await listRefusalCauses(database, { trackerId, from, limit: CAUSES_MAX })
  const refused = causes.find(({ rule }) => rule === RULE)
  if (!refused) return null
  return {
    at: refused.lastAt.toISOString(),
    requests: Number(refused.requests),
    request_id: refused.lastRequestId,
    advice: REFUSAL_RULES[RULE].advice,
  }
}

const RULE = 'forwarding_signature'

/** A verification event is stored once and never delivered. */
function formatTestCommand(path: string): string {
  const body = '{"event_name":"signal_verification","consent_basis":"legitimate_interest"}'
  return (
    `curl -i https://shop.example${path}/events -H 'Authorization: Bearer YOUR_PUBLISHABLE_KEY' ` +
    `-H 'Content-Type: application/json' -d '${body}'`
  )
}
