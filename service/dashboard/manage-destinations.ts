import type { TestPurchase } from '@signalbox/contract/destinations.ts'
import type {
  CredentialSubmission,
  DestinationSubmission,
} from '@signalbox/contract/session/destinations.ts'
import { commitAudited } from '../audit/commit-audited.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import {
  createDestination,
  parseTargetInput,
  parseTokenInput,
} from '../signals/delivery/create-destination.ts'
import { setCredential } from '../signals/delivery/credential-store.ts'
import { scheduleProbe } from '../signals/delivery/destination-health-store.ts'
import { announceDeliveries } from '../signals/delivery/destination-queue-store.ts'
import {
  assertDestinationId,
  destinationNotFound,
} from '../signals/delivery/destination-resource.ts'
import { type Destination, findDestination } from '../signals/delivery/destination-store.ts'
import { requirePlatform, sendTestPurchase } from '../signals/ingestion/send-test-purchase.ts'
import { findAdAccount } from '../workspaces/users/ad-account-store.ts'
import { requireRecentAuthentication } from '../workspaces/users/reauthentication.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'

interface TrackerScope {
  user: CurrentUser
  tracker: TrackerIdentity
}

interface DestinationScope extends TrackerScope {
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
  const config = parseTargetInput(platform, submission.config)
  const accessToken = parseTokenInput(submission.access_token)
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

/**
 * Replaces the credential, which also resumes a destination that was paused because of it. Throws
 * as `connectDestination` does.
 */
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
  const accessToken = parseTokenInput(submission.access_token)
  const config = changedConfig(context, before, submission.config ?? {})
  const [actor, at] = [userActor(user), context.now()]
  const change = { ...tracker, destinationId: before.id, accessToken, config, actor, at }
  if (!(await setCredential(context, context.credentialKeys, change))) throw destinationNotFound()
  context.onDestinationChanged(trackerId)
  return requireDestination(context, { tracker, destinationId })
}

/** The members that change. Without any, the platform need not be known to this process. */
function changedConfig(
  { platforms }: DashboardContext,
  { platform: name, config }: Destination,
  input: Record<string, unknown>,
): Record<string, unknown> {
  if (Object.keys(input).length === 0) return {}
  const platform = platforms.find(name)
  if (!platform) throw Refusal.ofFields({ config: [`This process does not know ${name}.`] })
  const target = parseTargetInput(platform, input, config)
  return Object.fromEntries(
    Object.entries(target).filter(([member, value]) => config[member] !== value),
  )
}

/** Tries a paused destination now. It needs a waiting event, because platforms have no ping. */
export async function checkDestinationNow(
  context: DashboardContext,
  { user, tracker, destinationId }: DestinationScope,
): Promise<Destination> {
  assertDestinationId(destinationId)
  const { trackerId, workspaceId } = tracker
  const at = context.now()
  const checked = await commitAudited(context, async (transaction, record) => {
    const destination = await scheduleProbe(transaction, { trackerId, destinationId, at })
    if (destination?.status !== 'inactive') return destination
    record({
      workspaceId,
      at,
      actor: userActor(user),
      action: 'destination.checked',
      subject: { type: 'destination', id: destination.id },
      details: {},
    })
    return destination
  })
  if (!checked) throw destinationNotFound()
  await announceDeliveries(context.database)
  return checked
}

/** Sends a test purchase at once, and records who did. */
export async function sendDestinationTestPurchase(
  context: DashboardContext,
  { user, tracker, destinationId, body }: DestinationScope & { body: unknown },
): Promise<TestPurchase> {
  const delivery = requirePlatform(context.delivery)
  const { trackerId, workspaceId } = tracker
  const sending = { ...delivery, erasureKey: context.erasureKey }
  const purchase = await sendTestPurchase(sending, { trackerId, destinationId, body })
  await commitAudited(context, async (_, record) =>
    record({
      workspaceId,
      at: context.now(),
      actor: userActor(user),
      action: 'test_purchase.sent',
      subject: { type: 'destination', id: destinationId.toLowerCase() },
      details: { event_id: purchase.event_id, status: purchase.status },
    }),
  )
  return purchase
}

async function requireDestination(
  { database }: DashboardContext,
  { tracker, destinationId }: Pick<DestinationScope, 'tracker' | 'destinationId'>,
): Promise<Destination> {
  assertDestinationId(destinationId)
  const destination = await findDestination(database, tracker.trackerId, destinationId)
  if (!destination) throw destinationNotFound()
  return destination
}
