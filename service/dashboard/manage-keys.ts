import { KeySubmission } from '@signalbox/contract/session/keys.ts'
import { commitAudited } from '../audit/commit-audited.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import { FieldErrorList, Validator } from '../runtime/http/validator.ts'
import { findKey, type TrackerKey } from '../signals/access/key-store.ts'
import { normalizeOriginPattern } from '../signals/access/origin-pattern.ts'
import { createKey, endKey, isKeyId, type KeyKind } from '../signals/access/tracker-keys.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { requireRecentAuthentication } from '../workspaces/users/reauthentication.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'

export interface IssuedKey {
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
export async function issueKeyByUser(
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
export async function rotateKeyByUser(
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
export async function revokeKeyByUser(
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
