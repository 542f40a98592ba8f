import * as operations from '@signalbox/contract/session/privacy-operations.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import {
  liftWithdrawalsOfPages,
  listWithdrawalsOfPages,
} from '../signals/delivery/lift-withdrawals.ts'
import { listReceipts } from '../signals/erasure/erasure-store.ts'
import { processDeletionRequest } from '../signals/erasure/routes.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { encodeCursor, PAGE_ROWS, readCursor, requireTracker } from './dashboard-context.ts'

/**
 * Erasing a person by the digest of an identifier that the browser computes, the receipts, and the
 * withdrawals that pages sent.
 */
export function privacyRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.eraseUserData,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'erase_people')
      const actor = userActor(request.user)
      return processDeletionRequest(context, { ...tracker, actor }, request.body)
    },
  })
  app.route({
    ...operations.listErasureReceipts,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      const after = readCursor(request.query, parsePosition)
      const limit = PAGE_ROWS + 1
      const found = await listReceipts(context.database, { trackerId, after, limit })
      const receipts = found.slice(0, PAGE_ROWS).map(receipt => ({
        id: receipt.id,
        requests: receipt.requests,
        events_updated: receipt.events,
        sessions_updated: receipt.sessions,
        created_at: receipt.createdAt.toISOString(),
        completed_at: receipt.completedAt.toISOString(),
      }))
      const last = found.length > PAGE_ROWS ? receipts.at(-1) : undefined
      return { receipts, next_cursor: last ? encodeCursor([last.id]) : null }
    },
  })
  app.route({
    ...operations.listPageWithdrawals,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      return listWithdrawalsOfPages(context.database, trackerId, request.query)
    },
  })
  app.route({
    ...operations.liftPageWithdrawals,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const actor = userActor(request.user)
      const result = await liftWithdrawalsOfPages(context, { tracker, actor, body: request.body })
      if (result.queued > 0) context.onDeliveriesQueued(tracker.trackerId)
      return result
    },
  })
}

/** The ID of a receipt: a UUIDv7, which sorts by time. */
function parsePosition([id = '']: readonly string[]): string | null {
  return /^del_[0-9a-f-]{36}$/.test(id) ? id : null
}
