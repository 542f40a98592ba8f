import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import {
  START_STEPS,
  type StartChecklist,
  type StartStep,
} from '@signalbox/contract/session/start.ts'
import { readStartChecklist } from '@signalbox/contract/session/start-operations.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters } from '../runtime/http/validator.ts'
import { MARK_PATH } from '../runtime/pages/layout.ts'
import { pageHeaders, servePages } from '../runtime/pages/serve-pages.ts'
import { listLiveKeys } from '../signals/access/key-store.ts'
import { hasAcceptedDelivery } from '../signals/delivery/delivery-store.ts'
import { listDestinations } from '../signals/delivery/destination-store.ts'
import { hasAcceptedTestPurchase } from '../signals/delivery/sent-counts-store.ts'
import { findEventsById } from '../signals/events/event-store.ts'
import { findLastReceipt } from '../signals/events/list-store.ts'
import { VERIFICATION_EVENT_ID } from '../signals/ingestion/accept-event.ts'
import { forSignedIn, SIGNED_IN, type SignedInRequest } from '../workspaces/users/page-visit.ts'
import { requireRole } from '../workspaces/users/workspaces.ts'
import { type DashboardContext, requireTracker } from './dashboard-context.ts'

const FOLDER = join(
  dirname(fileURLToPath(import.meta.resolve('@signalbox/dashboard/package.json'))),
  'dist',
)
const ASSETS_PATH = '/dashboard-assets/'
const NONCE_PLACE = '__STYLE_NONCE__'
const ICON_PLACE = 'data:,'
const NONCE_BYTES = 16

/**
 * The React app: one document for every page below /w/:workspace, for members of the workspace,
 * and for the list of a person's workspaces; and its scripts and styles, which browsers may keep
 * because their names change with their content.
 */
export function appRoutes(app: ServiceApp, context: DashboardContext): void {
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    const handler = forSignedIn(context, visit => sendToMember(context, visit))
    pages.get('/w/:workspace', SIGNED_IN, handler)
    pages.get('/w/:workspace/*', SIGNED_IN, handler)
    const workspaces = forSignedIn(context, async visit => sendDocument(visit))
    pages.get('/workspaces', SIGNED_IN, workspaces)
  })
  app.register(async assets => {
    assets.register(fastifyStatic, {
      root: FOLDER,
      serve: false,
      preCompressed: true,
      immutable: true,
      maxAge: '365d',
    })
    assets.get(`${ASSETS_PATH}*`, { config: { credential: 'none' } }, (request, reply) => {
      const { '*': name } = readPathParameters(request.params, '*')
      if (!/^[\w-]+\.(js|css)$/.test(name)) throw Refusal.notFound('There is no such file.')
      return reply.sendFile(name)
    })
  })
}

/** A stranger gets the same 404 as for a workspace that does not exist. */
async function sendToMember(
  { database }: DashboardContext,
  visit: SignedInRequest,
): Promise<unknown> {
  const { workspace: workspaceId } = readPathParameters(visit.request.params, 'workspace')
  await requireRole(database, visit.user, { workspaceId, action: 'view_events' })
  return sendDocument(visit)
}

function sendDocument({ reply }: SignedInRequest): string {
  const styleNonce = randomBytes(NONCE_BYTES).toString('base64')
  for (const [name, value] of Object.entries(pageHeaders({ app: { styleNonce } }))) {
    reply.header(name, value)
  }
  return readDocument().replace(NONCE_PLACE, styleNonce)
}

let document: string | null = null

/** Read when it is first asked for, so that a service that shows no pages needs no build. */
function readDocument(): string {
  try {
    document ??= readFileSync(join(FOLDER, 'index.html'), 'utf8').replace(ICON_PLACE, MARK_PATH)
    return document
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const message = 'The dashboard is not built. Run `npm run dashboard:build` and reload.'
    throw Refusal.unavailable(message, 60)
  }
}

/** How far a tracker is from its first event to its first accepted delivery. */
export function startRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...readStartChecklist,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      return readChecklist(context, trackerId)
    },
  })
}

/** A page polls this every few seconds, so each step is an index lookup or a kept count. */
async function readChecklist(
  { database, now }: DashboardContext,
  trackerId: string,
): Promise<StartChecklist> {
  const destinations = await listDestinations(database, trackerId)
  const destinationIds = destinations.map(({ id }) => id)
  const today = now().toISOString().slice(0, 10)
  const [keys, verifications, isPurchaseAccepted, lastReceipt, isDelivered] = await Promise.all([
    listLiveKeys(database, trackerId),
    findEventsById(database, trackerId, [VERIFICATION_EVENT_ID], ['secret']),
    hasAcceptedTestPurchase(database, { trackerId, destinationIds, today }),
    findLastReceipt(database, trackerId),
    hasAcceptedDelivery(database, trackerId),
  ])
  const connected = destinations.find(({ status }) => status === 'active')
  const done: Record<StartStep, Date | boolean | undefined | null> = {
    key_issued: keys.find(({ kind }) => kind === 'tracker_secret')?.createdAt,
    verification_received: verifications[0]?.createdAt,
    destination_connected: connected?.createdAt,
    test_purchase_accepted: isPurchaseAccepted,
    event_received: lastReceipt,
    delivery_accepted: isDelivered,
  }
  const steps = START_STEPS.map(step => {
    const state = done[step]
    const at = state instanceof Date ? state.toISOString() : null
    return { step, is_done: at !== null || state === true, at }
  })
  return { steps, is_complete: steps.every(({ is_done }) => is_done) }
}
