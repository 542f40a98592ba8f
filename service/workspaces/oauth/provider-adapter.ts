import { hash } from 'node:crypto'
import { isStorableText } from '../../runtime/http/validator.ts'
import {
  consumeArtifact,
  deleteArtifact,
  deleteGrantArtifacts,
  type FoundArtifact,
  findArtifact,
  saveArtifact,
  useRefreshToken,
} from './artifact-store.ts'
import type { FindDocumentClient } from './client.ts'
import { isDocumentUrl, showClientName } from './client-metadata.ts'
import { findClient, type OauthClient, saveDocumentClient } from './client-store.ts'
import { type ChangeContext, revokeGrantWithAudit } from './connections.ts'
import { isActiveGrant } from './principal-store.ts'

interface AdapterContext extends ChangeContext {
  /** Throws when a user code is entered too often. */
  limitUserCode: (digest: string) => void
  /** What a caller is told. */
  errors: {
    /** For a reused code or refresh token. */
    reuse: () => Error
    /** For a resource that the code or token is not for. */
    target: () => Error
    /** For text that PostgreSQL cannot store. */
    text: () => Error
  }
  /** The resource that the current request names; undefined if none. */
  requestedResource: () => unknown
  /** The refresh token that the current request exchanges; undefined if none. */
  rotatedToken: () => string | undefined
  /** True while a device approval resumes, where the library passes the digest as the code. */
  isDeviceResuming: () => boolean
  /** True while a client requests an approval. */
  isRequesting: () => boolean
  findDocumentClient: (url: string) => ReturnType<FindDocumentClient>
  /** True while a client revokes its own tokens. */
  isRevoking: () => boolean
  /** For tests that show what a non-atomic version allows. */
  consume?: typeof consumeArtifact
}

/** The ID of a grant is not a credential: no caller ever presents it. */
const UNHASHED_MODELS = ['Grant']
/** Marks a digest in place of an ID that is only known by its user code or uid. */
const DIGEST_PREFIX = 'digest:'

/**
 * The storage adapter of oidc-provider. Artifacts are stored in `oauth_artifacts` under the SHA-256
 * of what callers present, and their payload does not contain it, so that a leaked row is useless.
 * One object serves one model. Clients have their own table, which the library only reads.
 */
export function createProviderAdapter(context: AdapterContext) {
  return (model: string) =>
    model === 'Client' ? clientAdapter(context) : artifactAdapter(context, model)
}

type Payload = Record<string, unknown>

function artifactAdapter(context: AdapterContext, model: string) {
  const { database, now, errors, limitUserCode, isDeviceResuming, isRevoking } = context
  const { consume = consumeArtifact } = context
  const isGrant = UNHASHED_MODELS.includes(model)
  const keyOf = (id: string) => (isGrant ? id : resolveDigest(id))
  return {
    async upsert(id: string, payload: Payload, expiresInSeconds: number) {
      const { uid, userCode, exp } = payload as { uid?: string; userCode?: string; exp?: number }
      const expires =
        typeof exp === 'number' ? exp * 1_000 : now().getTime() + expiresInSeconds * 1_000
      await saveArtifact(database, {
        model,
        id: keyOf(id),
        payload: toJson(withOrigin(context, model, stripSecrets(id, payload)), errors.text),
        grantId: isGrant ? id : ((payload.grantId as string | undefined) ?? null),
        userCode: userCode === undefined ? null : artifactDigest(userCode),
        uid: model === 'Session' && uid !== undefined ? artifactDigest(uid) : null,
        expiresAt: new Date(expires),
      })
    },
    async find(id: string) {
      if (isGrant && !(await isActiveGrant(database, id))) return undefined
      // Anywhere else, a caller could present the digest from a leaked row.
      const acceptsDigest = isGrant || (model === 'DeviceCode' && isDeviceResuming())
      const key = acceptsDigest ? keyOf(id) : artifactDigest(id)
      const found = await findArtifact(database, model, { id: key })
      if (!found) return undefined
      // The library would refuse a used token, which `consume` may accept again.
      const isRefresh = model === 'RefreshToken'
      return restorePayload(isRefresh ? withoutUses(found) : found, { jti: id })
    },
    async findByUserCode(userCode: string) {
      const digest = artifactDigest(userCode)
      limitUserCode(digest)
      const found = await findArtifact(database, model, { userCode: digest })
      return found ? restorePayload(found, { jti: DIGEST_PREFIX + found.id, userCode }) : undefined
    },
    async findByUid(uid: string) {
      const found = await findArtifact(database, model, { uid: artifactDigest(uid) })
      return found ? restorePayload(found, { jti: DIGEST_PREFIX + found.id, uid }) : undefined
    },
    async consume(id: string) {
      await requireGrantedResource(context, model, keyOf(id))
      if (model === 'RefreshToken') {
        const refusal = await useRefreshToken(database, { id: keyOf(id), at: now() })
        if (refusal === null) return
        if (refusal === 'used_too_often') throw errors.reuse()
      } else if (await consume(database, { model, id: keyOf(id), at: now() })) return
      // Reused, possibly by a thief: which of the two callers is unknown, so both lose the grant.
      const found = await findArtifact(database, model, { id: keyOf(id) })
      const grantId = found?.payload.grantId
      if (typeof grantId === 'string') await revokeGrantWithAudit(context, grantId, 'used_twice')
      throw errors.reuse()
    },
    async destroy(id: string) {
      // The library destroys a grant when it is revoked or when a token is reused.
      if (isGrant)
        await revokeGrantWithAudit(context, id, isRevoking() ? 'own_request' : 'used_twice')
      else await deleteArtifact(database, model, keyOf(id))
    },
    async revokeByGrantId(grantId: string) {
      await deleteGrantArtifacts(database, model, grantId)
    },
  }
}

/** A new refresh token keeps the digest of the one that it was exchanged for. */
function withOrigin({ rotatedToken }: AdapterContext, model: string, payload: Payload): Payload {
  const token = model === 'RefreshToken' ? rotatedToken() : undefined
  return token === undefined ? payload : { ...payload, rotatedFrom: artifactDigest(token) }
}

/** Any parameter of a request may be in a payload. */
function toJson(payload: Payload, textError: () => Error): string {
  return JSON.stringify(payload, (_name, value) => {
    if (typeof value === 'string' && !isStorableText(value)) throw textError()
    return value
  })
}

/**
 * Refuses another resource before the code or refresh token is used up: the library would do it
 * afterwards, and the caller could not send a corrected request.
 */
async function requireGrantedResource(
  { database, requestedResource, errors }: AdapterContext,
  model: string,
  id: string,
): Promise<void> {
  const requested = requestedResource()
  if (requested === undefined) return
  const found = await findArtifact(database, model, { id })
  const granted = [found?.payload.resource].flat()
  const isGranted = [requested].flat().every(resource => granted.includes(resource))
  if (found && !isGranted) throw errors.target()
}

/** The stored digest of what a caller presents. */
export function artifactDigest(value: string): string {
  return hash('sha256', value, 'base64url')
}

function resolveDigest(id: string): string {
  return id.startsWith(DIGEST_PREFIX) ? id.slice(DIGEST_PREFIX.length) : artifactDigest(id)
}

/** Replaces the ID of the request in the stored return URL. */
const UID_PLACEHOLDER = '{uid}'

/** An interaction also contains its ID in the return URL, and the session cookie. */
function stripSecrets(id: string, { jti, userCode, ...payload }: Payload): Payload {
  const { session, returnTo } = payload
  if (typeof returnTo === 'string') payload.returnTo = returnTo.replace(id, UID_PLACEHOLDER)
  if (session === undefined) return payload
  const { cookie, ...rest } = session as Payload
  return { ...payload, session: rest }
}

function withoutUses({ id, payload }: FoundArtifact): FoundArtifact {
  const { rotatedFrom: _, uses: __, usedChild: ___, ...known } = payload
  return { id, payload: known, consumedAt: null }
}

function restorePayload({ payload, consumedAt }: FoundArtifact, known: Payload): Payload {
  const { returnTo } = payload
  const restoredReturn = typeof returnTo === 'string' && {
    returnTo: returnTo.replace(UID_PLACEHOLDER, `${known.jti}`),
  }
  const consumed = consumedAt && { consumed: Math.floor(consumedAt.getTime() / 1_000) }
  return { ...payload, ...restoredReturn, ...known, ...consumed }
}

function clientAdapter(context: AdapterContext) {
  const { database } = context
  const rejectWrite = async () => {
    throw new Error('the library must not write clients')
  }
  return {
    async find(id: string) {
      const isRequested = isDocumentUrl(id) && context.isRequesting()
      const client = await (isRequested
        ? readDocumentClient(context, id)
        : findClient(database, id))
      return client ? toClientMetadata(client) : undefined
    },
    upsert: rejectWrite,
    findByUserCode: async () => undefined,
    findByUid: async () => undefined,
    consume: rejectWrite,
    destroy: rejectWrite,
    revokeByGrantId: rejectWrite,
  }
}

/**
 * A client whose ID is a URL is described there. A request for an approval reads the document and
 * stores what it says; afterwards the stored client counts, so that tokens can be refreshed while
 * the site of the client is down.
 */
async function readDocumentClient(
  { database, now, findDocumentClient }: AdapterContext,
  url: string,
): Promise<OauthClient | null> {
  const client = await findDocumentClient(url)
  if (client) await saveDocumentClient(database, client, now())
  return client
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** Client metadata of RFC 7591. All clients are public: none has a secret. */
function toClientMetadata({ clientId, kind, name, redirectUris }: OauthClient) {
  const isDevice = kind === 'device'
  return {
    client_id: clientId,
    client_name: isDevice ? name : showClientName(name),
    redirect_uris: redirectUris,
    grant_types: [isDevice ? DEVICE_GRANT : 'authorization_code', 'refresh_token'],
    response_types: isDevice ? [] : ['code'],
    // Other modes need a page with a script, or expose the code to pages.
    response_modes: ['query'],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
  }
}
