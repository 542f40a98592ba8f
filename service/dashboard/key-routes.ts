import { BASE_PATH } from '@signalbox/contract/operations.ts'
import * as operations from '@signalbox/contract/session/key-operations.ts'
import {
  KeySubmission,
  type TrackerKey as TrackerKeyView,
} from '@signalbox/contract/session/keys.ts'
import { commitAudited } from '../audit/audit-store.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { FieldErrorList, readPathParameters, Validator } from '../runtime/http/validator.ts'
import { normalizeOriginPattern } from '../signals/access/authenticate-publishable-key.ts'
import {
  findKey,
  type KeyPosition,
  listLiveKeys,
  listRevokedKeys,
  type TrackerKey,
} from '../signals/access/key-store.ts'
import {
  createKey,
  endKey,
  isKeyId,
  type KeyKind,
  LIVE_KEYS_MAX,
} from '../signals/access/tracker-keys.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { requireRecentAuthentication } from '../workspaces/users/reauthentication.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import {
  type DashboardContext,
  encodeCursor,
  PAGE_ROWS,
  readCursor,
  requireTracker,
} from './dashboard-context.ts'
import { checkForwarder, describeForwarder } from './forwarder.ts'

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

interface IssuedKey {
  key: TrackerKey
  /** The only plain copy. */
  token: string
}

interface KeyChange {
  user: CurrentUser
  tracker: TrackerIdentity
}

const keyValidator = new Validator(KeySubmission)

/**
 * Issues a key of a tracker. Throws a 403 when the user has not confirmed their identity
 * recently,
 * or a 422 naming every invalid field, `kind` when the tracker has two live keys of the kind.
 */
async function issueKeyByUser(
  context: DashboardContext,
  change: KeyChange,
  body: unknown,
): Promise<IssuedKey> {
  const { kind, origins = [] } = keyValidator.validate(body)
  return issue(context, change, { kind, origins: readOrigins(kind, origins) })
}

/**
 * Issues a second key of the same kind and with the same origins. The first one stays valid until
 * it is revoked, so that no event is lost while the new one is deployed.
 */
async function rotateKeyByUser(
  context: DashboardContext,
  change: KeyChange,
  keyId: string,
): Promise<IssuedKey> {
  const key = await requireKey(context, change.tracker, keyId)
  if (key.revokedAt !== null) {
    throw Refusal.ofFields({ key: ['This key is revoked: issue a new one instead.'] })
  }
  return issue(context, change, { kind: key.kind as KeyKind, origins: key.origins })
}

/** Revokes a key; every process refuses it within half a second. It may be revoked already. */
async function revokeKeyByUser(
  context: DashboardContext,
  { user, tracker }: KeyChange,
  keyId: string,
): Promise<void> {
  const key = await requireKey(context, tracker, keyId)
  const end = { at: context.now(), actor: userActor(user) }
  await commitAudited(context, async (transaction, record) => {
    const entry = await endKey(transaction, { ...tracker, ...key }, end)
    if (entry) record(entry)
  })
}

async function requireKey(
  { database }: DashboardContext,
  { trackerId }: TrackerIdentity,
  keyId: string,
) {
  const key = isKeyId(keyId) ? await findKey(database, trackerId, keyId) : null
  if (!key) throw Refusal.notFound('Key not found.')
  return key
}

async function issue(
  context: DashboardContext,
  { user, tracker }: KeyChange,
  { kind, origins }: { kind: KeyKind; origins: string[] },
): Promise<IssuedKey> {
  const issuedAt = context.now()
  requireRecentAuthentication(user, issuedAt)
  const request = { ...tracker, kind, origins, issuedAt, actor: userActor(user) }
  const { id, token, lastCharacters } = await commitAudited(
    context,
    async (transaction, record) => {
      const created = await createKey(transaction, request)
      record(created.entry)
      return created
    },
  )
  const dates = { createdAt: issuedAt, lastUsedAt: null, revokedAt: null }
  return { key: { id, kind, lastCharacters, origins, ...dates }, token }
}

/** The stored form of the origins of a publishable key. Other kinds have none. */
function readOrigins(kind: KeyKind, given: readonly string[]): string[] {
  const errors = new FieldErrorList()
  if (kind !== 'publishable' && given.length > 0) {
    errors.add('origins', 'The origins field is for publishable keys only.')
  }
  if (kind === 'publishable' && given.length === 0) {
    errors.add('origins', 'The origins field must name at least one origin of your pages.')
  }
  const origins = given.map((text, index) => {
    const origin = normalizeOriginPattern(text)
    if (origin === null) errors.add(`origins.${index}`, invalidOrigin(index))
    return origin ?? ''
  })
  if (!errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
  return [...new Set(origins)]
}

function invalidOrigin(index: number): string {
  return (
    `The origins.${index} field must be what browsers send, such as https://shop.example, or one ` +
    'of the wildcards https://*.shop.example and http://127.0.0.1:*.'
  )
}
