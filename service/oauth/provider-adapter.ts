import { hash } from 'node:crypto'
import {
  consumeArtifact,
  deleteArtifact,
  deleteGrantArtifacts,
  type FoundArtifact,
  findArtifact,
  saveArtifact,
} from './artifact-store.ts'
import { findClient, type OauthClient } from './client-store.ts'
import { revokeGrantWithAudit } from './connections.ts'
import type { ChangeContext } from './oauth-context.ts'
import { isActiveGrant } from './principal-store.ts'

export interface AdapterContext extends ChangeContext {
  /** What is thrown at whoever uses a code or a refresh token a second time. */
  reuseError: () => Error
  /** True while a device's approval goes on, where the library names the code as we named it. */
  isDeviceResuming: () => boolean
  /** True while a client revokes what it has itself. */
  isRevoking: () => boolean
  /** For tests, which show what happens when it is not atomic. */
  consume?: typeof consumeArtifact
}

/** A grant is no credential: it is named in rows, and no caller ever presents it. */
const UNHASHED_MODELS = ['Grant']
/** Stands before a digest where the library needs a name for what it only has by its user code. */
const DIGEST_PREFIX = 'digest:'

/**
 * How oidc-provider remembers things: in `oauth_artifacts`, under the SHA-256 of what callers
 * present and without it in the payload, so that the store holds nothing that could be used. One
 * object serves one model. Clients come from their own table; nothing is written there by the
 * library.
 */
export function createProviderAdapter(context: AdapterContext) {
  return (model: string) =>
    model === 'Client' ? clientAdapter(context) : artifactAdapter(context, model)
}

type Payload = Record<string, unknown>

function artifactAdapter(context: AdapterContext, model: string) {
  const { database, now, reuseError: usedTwice, isDeviceResuming, isRevoking } = context
  const { consume = consumeArtifact } = context
  const isPlain = UNHASHED_MODELS.includes(model)
  const keyOf = (id: string) => (isPlain ? id : resolveDigest(id))
  return {
    async upsert(id: string, payload: Payload, expiresInSeconds: number) {
      const { uid, userCode, exp } = payload as { uid?: string; userCode?: string; exp?: number }
      const expires =
        typeof exp === 'number' ? exp * 1_000 : now().getTime() + expiresInSeconds * 1_000
      await saveArtifact(database, {
        model,
        id: keyOf(id),
        payload: JSON.stringify(stripSecrets(id, payload)),
        grantId: isPlain ? id : ((payload.grantId as string | undefined) ?? null),
        userCode: userCode === undefined ? null : artifactDigest(userCode),
        uid: model === 'Session' && uid !== undefined ? artifactDigest(uid) : null,
        expiresAt: new Date(expires),
      })
    },
    async find(id: string) {
      if (isPlain && !(await isActiveGrant(database, id))) return undefined
      // Everywhere else a caller could present what a leaked row holds.
      const mayRefer = isPlain || (model === 'DeviceCode' && isDeviceResuming())
      const key = mayRefer ? keyOf(id) : artifactDigest(id)
      const found = await findArtifact(database, model, { id: key })
      return found ? restorePayload(found, { jti: id }) : undefined
    },
    async findByUserCode(userCode: string) {
      const found = await findArtifact(database, model, { userCode: artifactDigest(userCode) })
      return found ? restorePayload(found, { jti: DIGEST_PREFIX + found.id, userCode }) : undefined
    },
    async findByUid(uid: string) {
      const found = await findArtifact(database, model, { uid: artifactDigest(uid) })
      return found ? restorePayload(found, { jti: DIGEST_PREFIX + found.id, uid }) : undefined
    },
    async consume(id: string) {
      const isFirst = await consume(database, { model, id: keyOf(id), at: now() })
      if (isFirst) return
      // Two used it at the same moment, and nobody can say which of them stole it.
      const found = await findArtifact(database, model, { id: keyOf(id) })
      const grantId = found?.payload.grantId
      if (typeof grantId === 'string') await revokeGrantWithAudit(context, grantId, 'used_twice')
      throw usedTwice()
    },
    async destroy(id: string) {
      // The library forgets a grant when it is over: by revocation, or because a token came twice.
      if (isPlain)
        await revokeGrantWithAudit(context, id, isRevoking() ? 'own_request' : 'used_twice')
      else await deleteArtifact(database, model, keyOf(id))
    },
    async revokeByGrantId(grantId: string) {
      await deleteGrantArtifacts(database, model, grantId)
    },
  }
}

/** The digest of what a caller presents, as it stands in the store. */
export function artifactDigest(value: string): string {
  return hash('sha256', value, 'base64url')
}

function resolveDigest(id: string): string {
  return id.startsWith(DIGEST_PREFIX) ? id.slice(DIGEST_PREFIX.length) : artifactDigest(id)
}

/** In the address of the way back, in place of what names the request. */
const UID_PLACEHOLDER = '{uid}'

/** Besides its own name, an interaction holds an address with it, and the session's cookie. */
function stripSecrets(id: string, { jti, userCode, ...payload }: Payload): Payload {
  const { session, returnTo } = payload
  if (typeof returnTo === 'string') payload.returnTo = returnTo.replace(id, UID_PLACEHOLDER)
  if (session === undefined) return payload
  const { cookie, ...rest } = session as Payload
  return { ...payload, session: rest }
}

function restorePayload({ payload, consumedAt }: FoundArtifact, known: Payload): Payload {
  const { returnTo } = payload
  const way = typeof returnTo === 'string' && {
    returnTo: returnTo.replace(UID_PLACEHOLDER, `${known.jti}`),
  }
  const consumed = consumedAt && { consumed: Math.floor(consumedAt.getTime() / 1_000) }
  return { ...payload, ...way, ...known, ...consumed }
}

function clientAdapter({ database }: AdapterContext) {
  const refuse = async () => {
    throw new Error('the library writes no clients')
  }
  return {
    async find(id: string) {
      const client = await findClient(database, id)
      return client ? toClientMetadata(client) : undefined
    },
    upsert: refuse,
    findByUserCode: async () => undefined,
    findByUid: async () => undefined,
    consume: refuse,
    destroy: refuse,
    revokeByGrantId: refuse,
  }
}

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** A client in the words of RFC 7591. All are public: none has a secret. */
export function toClientMetadata({ clientId, kind, name, redirectUris }: OauthClient) {
  const isDevice = kind === 'device'
  return {
    client_id: clientId,
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: [isDevice ? DEVICE_GRANT : 'authorization_code', 'refresh_token'],
    response_types: isDevice ? [] : ['code'],
    // Anything else would need a page with a script, or leave the code where pages read it.
    response_modes: ['query'],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
  }
}
