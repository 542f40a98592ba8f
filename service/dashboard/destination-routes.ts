import type { TestPurchase } from '@signalbox/contract/destinations.ts'
import * as operations from '@signalbox/contract/session/destination-operations.ts'
import {
  CredentialSubmission,
  DestinationSubmission,
} from '@signalbox/contract/session/destinations.ts'
import { commitAudited } from '../audit/audit-store.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../runtime/http/validator.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { previewRouting, setRouting } from '../signals/delivery/change-routing.ts'
import { setCredential } from '../signals/delivery/credential-store.ts'
import { scheduleProbe } from '../signals/delivery/destination-health-store.ts'
import { announceDeliveries } from '../signals/delivery/destination-queue-store.ts'
import {
  assertDestinationId,
  createDestination,
  destinationNotFound,
  destinationView,
  isTestModeOn,
  parseTargetInput,
  parseTokenInput,
} from '../signals/delivery/destination-resource.ts'
import { type Destination, findDestination } from '../signals/delivery/destination-store.ts'
import { setTestMode } from '../signals/delivery/test-mode.ts'
import { requirePlatform, sendTestPurchase } from '../signals/ingestion/send-test-purchase.ts'
import { TAKES_ANY_CREDENTIAL } from '../signals/platforms/credentials.ts'
import { findAdAccount } from '../workspaces/users/ad-account-store.ts'
import { requireRecentAuthentication } from '../workspaces/users/reauthentication.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import { type DashboardContext, requireTracker, type TrackerRequest } from './dashboard-context.ts'
import { readDestinationStatuses, readTestModes } from './destination-status.ts'

const destinationValidator = new Validator(DestinationSubmission)
const credentialValidator = new Validator(CredentialSubmission)

/** The destinations of a tracker: what they do, and everything that a person may change. */
export function destinationRoutes(app: ServiceApp, context: DashboardContext): void {
  readRoutes(app, context)
  credentialRoutes(app, context)
  testRoutes(app, context)
  routingRoutes(app, context)
}

function readRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.listDestinations,
    handler: async request =>
      readDestinationStatuses(context, await requireTracker(context, request, 'read')),
  })
  app.route({
    ...operations.listTestModes,
    handler: async request =>
      readTestModes(context, await requireTracker(context, request, 'read')),
  })
}

function credentialRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.createDestination,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const submission = destinationValidator.validate(request.body)
      const { user } = request
      const destination = await connectDestination(context, { user, tracker, submission })
      return reply.code(201).send(viewOf(context, destination, tracker.workspaceId))
    },
  })
  app.route({
    ...operations.replaceCredential,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const submission = credentialValidator.validate(request.body)
      const scope = { user: request.user, tracker, destinationId: destinationOf(request) }
      const changed = await replaceDestinationCredential(context, { ...scope, submission })
      return viewOf(context, changed, tracker.workspaceId)
    },
  })
  app.route({
    ...operations.checkDestination,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const scope = { user: request.user, tracker, destinationId: destinationOf(request) }
      const checked = await checkDestinationNow(context, scope)
      return viewOf(context, checked, tracker.workspaceId)
    },
  })
}

function testRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.switchTestMode,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const at = context.now()
      const destination = await setTestMode(context, {
        tracker,
        destinationId: destinationOf(request),
        body: request.body,
        at,
        actor: userActor(request.user),
      })
      context.onDestinationChanged(tracker.trackerId)
      return {
        destination: destinationView(destination, { workspaceId: tracker.workspaceId, at }),
        test_mode: isTestModeOn(destination, at),
      }
    },
  })
  app.route({
    ...operations.sendPurchase,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const { user, body } = request
      const scope = { user, tracker, destinationId: destinationOf(request) }
      return sendDestinationTestPurchase(context, { ...scope, body })
    },
  })
}

function routingRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.changeRouting,
    async handler(request) {
      const given = await readRoutingRequest(context, request)
      const actor = userActor(request.user)
      const { routing } = await setRouting(context, { ...given, actor })
      context.onDestinationChanged(given.tracker.trackerId)
      return routing
    },
  })
  app.route({
    ...operations.previewRouting,
    handler: async request => previewRouting(context, await readRoutingRequest(context, request)),
  })
}

async function readRoutingRequest(
  context: DashboardContext,
  request: TrackerRequest & { body: unknown },
) {
  const tracker = await requireTracker(context, request, 'manage_trackers')
  return { tracker, destinationId: destinationOf(request), body: request.body, at: context.now() }
}

function destinationOf({ params }: TrackerRequest): string {
  return readPathParameters(params, 'destination').destination
}

function viewOf({ now }: DashboardContext, destination: Destination, workspaceId: number) {
  return destinationView(destination, { workspaceId, at: now() })
}

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
async function connectDestination(
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
  const accessToken = parseTokenInput(platform, submission.access_token)
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
async function replaceDestinationCredential(
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
  // Its worker judges the credential of a platform that this process does not know.
  const platform = context.platforms.find(before.platform) ?? TAKES_ANY_CREDENTIAL
  const accessToken = parseTokenInput(platform, submission.access_token)
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
async function checkDestinationNow(
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
async function sendDestinationTestPurchase(
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
