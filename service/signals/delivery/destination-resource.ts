import { randomUUID } from 'node:crypto'
import { storedText } from '@signalbox/contract/closed-set.ts'
import type { Destination as DestinationView } from '@signalbox/contract/destinations.ts'
import type { DestinationRouting } from '@signalbox/contract/routing.ts'
import type { AuditActor } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { type CredentialKeys, sealCredential } from '../../runtime/util/sealed-credential.ts'
import { lockTracker, type TrackerIdentity } from '../access/tracker-store.ts'
import type { Platform, TargetConfig } from '../platforms/platform.ts'
import {
  DESTINATIONS_MAX,
  type Destination,
  findDestination,
  insertDestination,
  listDestinations,
} from './destination-store.ts'

/** A destination as the API returns it, without its credential. */
export function destinationView(
  destination: Destination,
  { workspaceId, at }: { workspaceId: number; at: Date },
): DestinationView {
  const { testModeUntil } = destination
  return {
    id: destination.id,
    workspace_id: workspaceId,
    signal_tracker_id: destination.trackerId,
    platform_ad_account_id: destination.platformAdAccountId,
    type: destination.platform,
    credential_source: 'oauth_connection',
    config: {
      ...destination.config,
      test_event_code: destination.testCode,
      test_mode_until: isTestModeOn(destination, at)
        ? (testModeUntil?.toISOString() ?? null)
        : null,
      status_reason: destination.statusReason,
    },
    status: storedText(destination.status),
    created_at: destination.createdAt.toISOString(),
    updated_at: destination.updatedAt.toISOString(),
  }
}

/** Test mode ends automatically at its time. */
export function isTestModeOn(
  { testModeUntil }: Pick<Destination, 'testModeUntil'>,
  at: Date,
): boolean {
  return testModeUntil !== null && testModeUntil > at
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Throws the 404 of an unknown destination when the path id is no UUID. */
export function assertDestinationId(id: string): void {
  if (!UUID.test(id)) throw destinationNotFound()
}

/** Also for a destination of another tracker, so that its existence is not disclosed. */
export function destinationNotFound(): Refusal {
  return Refusal.notFound('This tracker has no such destination.')
}

/** The members of `config` as one text. */
export function formatTarget(config: TargetConfig): string {
  return Object.values(config).join(' ')
}

interface NewDestination {
  tracker: TrackerIdentity
  platform: Platform
  /** As `parseTargetInput` returns it. */
  config: TargetConfig
  /** As `parseTokenInput` returns it. */
  accessToken: string
  platformAdAccountId: number | null
  /** By default, the destination gets every event under its own name. */
  routing?: DestinationRouting
  actor: AuditActor
  at: Date
}

/**
 * Creates a destination, which gets the events that are accepted from then on. Throws a 422 refusal
 * when the tracker has too many, or one that sends to the same target.
 */
export async function createDestination(
  context: AuditedContext & { credentialKeys: CredentialKeys },
  { tracker, platform, config, accessToken, actor, at, ...others }: NewDestination,
): Promise<Destination> {
  const { trackerId, workspaceId } = tracker
  const id = randomUUID()
  await commitAudited(context, async (transaction, record) => {
    await lockTracker(transaction, trackerId)
    assertNewTarget(await listDestinations(transaction, trackerId), { platform, config })
    await insertDestination(transaction, {
      trackerId,
      id,
      platform: platform.name,
      config,
      ...others,
      sealedCredential: sealCredential(context.credentialKeys, id, accessToken),
      createdAt: at,
    })
    record({
      workspaceId,
      at,
      actor,
      action: 'destination.created',
      subject: { type: 'destination', id },
      details: { tracker_id: trackerId, platform: platform.name },
    })
  })
  const destination = await findDestination(context.database, trackerId, id)
  if (!destination) throw new Error(`destination ${id} is missing after its creation`)
  return destination
}

type Target = Pick<NewDestination, 'platform' | 'config'>

/** Two destinations with one target would send every event twice. */
function assertNewTarget(existing: readonly Destination[], { platform, config }: Target): void {
  if (existing.length >= DESTINATIONS_MAX) {
    throw Refusal.ofFields({ type: [`A tracker has at most ${DESTINATIONS_MAX} destinations.`] })
  }
  const target = targetOf(platform, config)
  const isTaken = existing.some(
    destination =>
      destination.platform === platform.name && targetOf(platform, destination.config) === target,
  )
  if (!isTaken) return
  const field = `config.${platform.targetFields[0]?.name ?? ''}`
  throw Refusal.ofFields({
    [field]: [`This tracker already sends to ${platform.label} ${formatTarget(config)}.`],
  })
}

function targetOf({ targetFields }: Platform, config: TargetConfig): string {
  return JSON.stringify(targetFields.map(({ name }) => config[name]))
}
