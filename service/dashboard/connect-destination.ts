import type {
  CredentialSubmission,
  DestinationSubmission,
} from '@signalbox/contract/session/destinations.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { setCredential } from '../signals/delivery/credential-store.ts'
import {
  assertDestinationId,
  createDestination,
  destinationNotFound,
  parseConnectionInput,
  parseTokenInput,
} from '../signals/delivery/destination-resource.ts'
import { type Destination, findDestination } from '../signals/delivery/destination-store.ts'
import { TAKES_ANY_CREDENTIAL } from '../signals/platforms/credentials.ts'
import { findAdAccount } from '../workspaces/users/ad-account-store.ts'
import { requireRecentAuthentication } from '../workspaces/users/reauthentication.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'

interface TrackerScope {
  user: CurrentUser
  tracker: TrackerIdentity
}

export interface DestinationScope extends TrackerScope {
  /** From the path, not validated. */
  destinationId: string
}

/**
 * Creates a destination for a platform of the registry. Throws a 403 refusal until the person has
 * confirmed their identity, because a stolen session must not send events elsewhere, and a 422
 * refusal that names the invalid fields.
 */
export async function connectDestination(
  context: DashboardContext,
  { user, tracker, submission }: TrackerScope & { submission: DestinationSubmission },
): Promise<Destination> {
  requireRecentAuthentication(user, context.now())
  const platform = context.platforms.find(submission.type)
  if (!platform) {
    const names = context.platforms.all.map(({ name }) => name).join(', ')
    throw Refusal.ofFields({ type: [`The type field must be one of: ${names}.`] })
  }
  const { config, accessToken } = parseConnectionInput(platform, {
    config: submission.config,
    accessToken: submission.access_token,
  })
  const platformAdAccountId = submission.ad_account_id ?? null
  const { workspaceId, trackerId } = tracker
  if (platformAdAccountId !== null) {
    await assertAdAccount(context, { workspaceId, adAccountId: platformAdAccountId })
  }
  const [actor, at] = [userActor(user), context.now()]
  const input = { tracker, platform, config, accessToken, platformAdAccountId, actor, at }
  const destination = await createDestination(context, input)
  context.onDestinationChanged(trackerId)
  return destination
}

async function assertAdAccount(
  { database }: DashboardContext,
  key: { workspaceId: number; adAccountId: number },
): Promise<void> {
  const account = await findAdAccount(database, key)
  if (account?.status === 'active') return
  throw Refusal.ofFields({ ad_account_id: ['Choose an active ad account of this workspace.'] })
}

/** Replaces the credential, which also resumes a destination. Throws as `connectDestination`. */
export async function replaceDestinationCredential(
  context: DashboardContext,
  {
    user,
    tracker,
    destinationId,
    submission,
  }: DestinationScope & { submission: CredentialSubmission },
): Promise<Destination> {
  requireRecentAuthentication(user, context.now())
  const { trackerId } = tracker
  const before = await requireDestination(context, { tracker, destinationId })
  const { accessToken, config } = readReplacement(context, before, submission)
  const [actor, at] = [userActor(user), context.now()]
  const change = { ...tracker, destinationId: before.id, accessToken, config, actor, at }
  if (!(await setCredential(context, context.credentialKeys, change))) throw destinationNotFound()
  context.onDestinationChanged(trackerId)
  return requireDestination(context, { tracker, destinationId })
}

/** The credential and the members that change. Without any, the platform need not be known. */
function readReplacement(
  { platforms }: DashboardContext,
  { platform: name, config: current }: Destination,
  { access_token, config: input = {} }: CredentialSubmission,
): { accessToken: string; config: Record<string, unknown> } {
  const platform = platforms.find(name)
  if (Object.keys(input).length === 0) {
    // Its worker judges the credential of a platform that this process does not know.
    const accessToken = parseTokenInput(platform ?? TAKES_ANY_CREDENTIAL, access_token)
    return { accessToken, config: {} }
  }
  if (!platform) throw Refusal.ofFields({ config: [`This process does not know ${name}.`] })
  const given = { config: input, accessToken: access_token }
  const { accessToken, config } = parseConnectionInput(platform, given, current)
  const changed = Object.entries(config).filter(([member, value]) => current[member] !== value)
  return { accessToken, config: Object.fromEntries(changed) }
}

async function requireDestination(
  { database }: DashboardContext,
  { tracker, destinationId }: Pick<DestinationScope, 'tracker' | 'destinationId'>,
): Promise<Destination> {
  assertDestinationId(destinationId)
  const destination = await findDestination(database, tracker.trackerId, destinationId)
  if (!destination || destination.disconnectedAt) throw destinationNotFound()
  return destination
}
