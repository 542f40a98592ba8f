import { BASE_PATH } from '@signalbox/contract/operations.ts'
import * as operations from '@signalbox/contract/session/key-operations.ts'
import type { TrackerKey as TrackerKeyView } from '@signalbox/contract/session/keys.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters } from '../runtime/http/validator.ts'
import {
  type KeyPosition,
  listLiveKeys,
  listRevokedKeys,
  type TrackerKey,
} from '../signals/access/key-store.ts'
import { isKeyId, type KeyKind, LIVE_KEYS_MAX } from '../signals/access/tracker-keys.ts'
import { checkForwarder } from './check-forwarder.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { describeForwarder } from './describe-forwarder.ts'
import { type IssuedKey, issueKeyByUser, revokeKeyByUser, rotateKeyByUser } from './manage-keys.ts'
import { encodeCursor, PAGE_ROWS, readCursor } from './page-cursor.ts'
import { requireTracker } from './tracker-scope.ts'

/** The keys of a tracker, and the forwarders that use them. */
export function keyRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.listTrackerKeys,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      return listKeys(context, trackerId, readCursor(request.query, parsePosition))
    },
  })
  app.route({
    ...operations.issueTrackerKey,
    async handler(request, reply) {
      const { user, body } = request
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const issued = await issueKeyByUser(context, { user, tracker }, body)
      return reply.code(201).send(issuedView(issued))
    },
  })
  app.route({
    ...operations.rotateTrackerKey,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const { key } = readPathParameters(request.params, 'key')
      const issued = await rotateKeyByUser(context, { user: request.user, tracker }, key)
      return reply.code(201).send(issuedView(issued))
    },
  })
  app.route({
    ...operations.revokeTrackerKey,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const { key } = readPathParameters(request.params, 'key')
      await revokeKeyByUser(context, { user: request.user, tracker }, key)
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.getForwarder,
    async handler(request) {
      await requireTracker(context, request, 'read')
      const { kind } = readPathParameters(request.params, 'kind')
      const { query } = request
      return describeForwarder(kind, { baseUrl: `${context.publicOrigin()}${BASE_PATH}`, query })
    },
  })
  app.route({
    ...operations.checkForwarder,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      const { query } = request
      return checkForwarder(context.database, { trackerId, query, at: context.now() })
    },
  })
}

async function listKeys(
  { database }: DashboardContext,
  trackerId: string,
  after: KeyPosition | null,
) {
  const live = await listLiveKeys(database, trackerId)
  const found = await listRevokedKeys(database, { trackerId, after, limit: PAGE_ROWS + 1 })
  const revoked = found.slice(0, PAGE_ROWS)
  const last = found.length > PAGE_ROWS ? revoked.at(-1) : undefined
  return {
    live: live.map(keyView),
    revoked: revoked.map(keyView),
    live_max: LIVE_KEYS_MAX,
    next_cursor: last ? encodeCursor([last.revokedAt?.toISOString() ?? '', last.id]) : null,
  }
}

function parsePosition([revokedAt = '', id = '']: readonly string[]): KeyPosition | null {
  const time = new Date(revokedAt)
  return Number.isNaN(time.getTime()) || !isKeyId(id) ? null : { revokedAt: time, id }
}

function issuedView({ key, token }: IssuedKey) {
  return { key: keyView(key), token }
}

function keyView(key: TrackerKey): TrackerKeyView {
  return {
    id: key.id,
    kind: key.kind as KeyKind,
    last_characters: key.lastCharacters,
    origins: key.origins,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  }
}
