import { hash } from 'node:crypto'
import {
  consumeArtifact,
  type FoundArtifact,
  findArtifact,
  removeArtifact,
  removeArtifactsOfGrant,
  saveArtifact,
} from './artifact-store.ts'
import { findClient, type OauthClient } from './client-store.ts'
import { endGrant } from './end-grant.ts'
import type { ChangeContext } from './oauth-context.ts'
import { isLiveGrant } from './principal-store.ts'

export interface AdapterContext extends ChangeContext {
  /** What is thrown at whoever uses a code or a refresh token a second time. */
  usedTwice: () => Error
  /** True while a device's approval goes on, where the library names the code as we named it. */
  isDeviceResuming: () => boolean
  /** True while a client revokes what it has itself. */
  isRevoking: () => boolean
  /** For tests, which show what happens when it is not atomic. */
  consume?: typeof consumeArtifact
}

/** A grant is no credential: it is named in rows, and no caller ever presents it. */
const PLAIN_MODELS = ['Grant']
/** Stands before a digest where the library needs a name for what it only has by its user code. */
const REFERENCE = 'digest:'

/**
 * How oidc-provider remembers things: in `oauth_artifacts`, under the SHA-256 of what callers
 * present and without it in the payload, so that the store holds nothing that could be used. One
 * object serves one model. Clients come from their own table; nothing is written there by the
 * library.
 */
export function providerAdapter(context: AdapterContext) {
  return (model: string) =>
    model === 'Client' ? clientAdapter(context) : artifactAdapter(context, model)
}

type Payload = Record<string, unknown>

function artifactAdapter(context: AdapterContext, model: string) {
  const { database, now, usedTwice, isDeviceResuming, isRevoking } = context
  const { consume = consumeArtifact } = context
  const isPlain = PLAIN_MODELS.includes(model)
  const keyOf = (id: string) => (isPlain ? id : referredDigest(id))
  return {
    async upsert(id: string, payload: Payload, expiresInSeconds: number) {
      const { uid, userCode, exp } = payload as { uid?: string; userCode?: string; exp?: number }
      const expires =
        typeof exp === 'number' ? exp * 1_000 : now().getTime() + expiresInSeconds * 1_000
      await saveArtifact(database, {
        model,
        id: keyOf(id),
        payload: JSON.stringify(withoutBearers(id, payload)),
        grantId: isPlain ? id : ((payload.grantId as string | undefined) ?? null),
        userCode: userCode === undefined ? null : digestOf(userCode),
        uid: model === 'Session' && uid !== undefined ? digestOf(uid) : null,
        expiresAt: new Date(expires),
      })
    },
    async find(id: string) {
      if (isPlain && !(await isLiveGrant(database, id))) return undefined
      // Everywhere else a caller could present what a leaked row holds.
      const mayRefer = isPlain || (model === 'DeviceCode' && isDeviceResuming())
      const key = mayRefer ? keyOf(id) : digestOf(id)
      const found = await findArtifact(database, model, { id: key })
      return found ? restored(found, { jti: id }) : undefined
    },
    async findByUserCode(userCode: string) {
      const found = await findArtifact(database, model, { userCode: digestOf(userCode) })
      return found ? restored(found, { jti: REFERENCE + found.id, userCode }) : undefined
    },
    async findByUid(uid: string) {
      const found = await findArtifact(database, model, { uid: digestOf(uid) })
      return found ? restored(found, { jti: REFERENCE + found.id, uid }) : undefined
    },
    async consume(id: string) {
      const isFirst = await consume(database, { model, id: keyOf(id), at: now() })
      if (isFirst) return
      // Two used it at the same moment, and nobody can say which of them stole it.
      const found = await findArtifact(database, model, { id: keyOf(id) })
      const grantId = found?.payload.grantId
      if (typeof grantId === 'string') await endGrant(context, grantId, 'used_twice')
      throw usedTwice()
    },
    async destroy(id: string) {
      // The library forgets a grant when it is over: by revocation, or because a token came twice.
      if (isPlain) await endGrant(context, id, isRevoking() ? 'own_request' : 'used_twice')
      else await removeArtifact(database, model, keyOf(id))
    },
    async revokeByGrantId(grantId: string) {
      await removeArtifactsOfGrant(database, model, grantId)
    },
  }
}

/** The digest of what a caller presents, as it stands in the store. */
export function digestOf(value: string): string {
  return hash('sha256', value, 'base64url')
}

function referredDigest(id: string): string {
  return id.startsWith(REFERENCE) ? id.slice(REFERENCE.length) : digestOf(id)
}

/** In the address of the way back, in place of what names the request. */
const UID = '{uid}'

/** Besides its own name, an interaction holds an address with it, and the session's cookie. */
function withoutBearers(id: string, { jti, userCode, ...payload }: Payload): Payload {
  const { session, returnTo } = payload
  if (typeof returnTo === 'string') payload.returnTo = returnTo.replace(id, UID)
  if (session === undefined) return payload
  const { cookie, ...rest } = session as Payload
  return { ...payload, session: rest }
}

function restored({ payload, consumedAt }: FoundArtifact, known: Payload): Payload {
  const { returnTo } = payload
  const way = typeof returnTo === 'string' && { returnTo: returnTo.replace(UID, `${known.jti}`) }
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
      return client ? clientMetadata(client) : undefined
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
export function clientMetadata({ clientId, kind, name, redirectUris }: OauthClient) {
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
