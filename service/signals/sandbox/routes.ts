import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import {
  SANDBOX_SCOPE,
  type SandboxDiscovery,
  type SandboxKey,
} from '@signalbox/contract/sandbox.ts'
import {
  createSandboxKey,
  readSandboxKey,
  SANDBOX_OPERATIONS,
  sandboxDiscovery,
  validateSandboxEvent,
} from '@signalbox/contract/sandbox-operations.ts'
import { type AddressLimit, limitAddresses } from '../../runtime/http/client-address.ts'
import { preflightHeaders, readBearerToken } from '../../runtime/http/headers.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { deriveKey } from '../../runtime/util/sealed-credential.ts'
import { TOKEN_PREFIXES } from '../../runtime/util/token-format.ts'
import type { ConsentSettings } from '../consent/consent-signal.ts'
import type { SelectedPlatforms } from '../platforms/registry.ts'
import { validateEvent } from './validate-event.ts'

export interface SandboxContext {
  /** Sandbox keys are derived from it. Processes with the same secret accept each other's keys. */
  credentialKeys: { current: Buffer }
  /** They normalize identity as production does; none is contacted. */
  platforms: SelectedPlatforms
  /** As in production. */
  settings: ConsentSettings
  now: () => Date
  publicOrigin: () => string
  limits: { sandbox: AddressLimit | null }
}

/**
 * The sandbox imports no store and no platform (`import-boundary.test.ts`), so it can neither store
 * nor forward what it receives.
 */
export function sandboxRoutes(app: ServiceApp, context: SandboxContext): void {
  const keys = createSandboxKeys(context.credentialKeys.current)
  app.register(async sandbox => {
    // In onSend, so that refusals of earlier hooks have these headers too.
    sandbox.addHook('onSend', async (_request, reply) => {
      reply.headers({ ...CORS_HEADERS, 'cache-control': 'no-store, private' })
    })
    if (context.limits.sandbox) limitAddresses(sandbox, context.limits.sandbox)
    keyRoutes(sandbox, keys, context)
    validationRoute(sandbox, keys, context)
    preflightRoutes(sandbox)
  })
}

function keyRoutes(
  app: ServiceApp,
  keys: SandboxKeys,
  { now, publicOrigin }: SandboxContext,
): void {
  const baseUrl = () => publicOrigin() + BASE_PATH
  const newKey = () => issueSandboxKey(keys, { at: now(), baseUrl: baseUrl() })

  app.route({
    ...sandboxDiscovery,
    handler: async (_request, reply) =>
      reply.code(200).send(buildDiscoveryDocument(baseUrl(), newKey())),
  })
  app.route({
    ...readSandboxKey,
    handler: async (_request, reply) => reply.code(200).send(newKey()),
  })
  app.route({
    ...createSandboxKey,
    handler: async (_request, reply) => reply.code(201).send(newKey()),
  })
}

function validationRoute(app: ServiceApp, keys: SandboxKeys, context: SandboxContext): void {
  const { now, platforms, settings } = context
  app.route({
    ...validateSandboxEvent,
    // Runs before the body is read, as on every authenticated route.
    async onRequest({ headers }) {
      const token = readBearerToken(headers.authorization)
      if (token === null || !keys.isValid(token, now())) throw Refusal.unauthenticated()
    },
    async handler({ body, headers }, reply) {
      const idempotencyKey = headers['idempotency-key'] as string | undefined
      const input = { platforms, settings, body, idempotencyKey, receivedAt: now() }
      return reply.code(200).send(validateEvent(input))
    },
  })
}

/** CORS preflights: pages of every origin may send JSON and a key. */
function preflightRoutes(app: ServiceApp): void {
  const urls = new Set(SANDBOX_OPERATIONS.map(({ url }) => url))
  for (const url of urls) {
    const methods = SANDBOX_OPERATIONS.filter(operation => operation.url === url)
    const headers = preflightHeaders(
      methods.map(({ method }) => method),
      'Authorization, Content-Type, Idempotency-Key',
    )
    app.options(url, { config: { credential: 'none' } }, async (_request, reply) =>
      reply.code(204).headers(headers).send(),
    )
  }
}

/** The response of GET /sandbox. It includes a key, so that clients need no second call. */
function buildDiscoveryDocument(baseUrl: string, issued_key: SandboxKey): SandboxDiscovery {
  return {
    environment: 'sandbox',
    authentication_required: true,
    account_required: false,
    production_data: false,
    persists_data: false,
    provider_delivery: false,
    description:
      'Validates conversion events as production does, with a self-service key. ' +
      'Nothing is stored and no advertising platform is contacted.',
    self_serve_key: {
      method: createSandboxKey.method,
      url: baseUrl + createSandboxKey.url,
      authentication_required: false,
      description:
        'issued_key works now, until its expires_at. For another one send POST without a body, ' +
        'or GET to the same URL.',
      issued_key,
    },
    try: {
      method: validateSandboxEvent.method,
      url: baseUrl + validateSandboxEvent.url,
      content_type: 'application/json',
      body: {
        event_id: 'sandbox-order-1001',
        event_name: 'Purchase',
        action_source: 'website',
        value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
      },
    },
  }
}

/**
 * Sent with every response of the sandbox: every page may use it, because it has no data and its
 * keys give no other access. Never with credentials, which browsers reject with `*`.
 */
const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'Request-Id, Retry-After, RateLimit, RateLimit-Policy, X-Should-Retry',
} as const

const SANDBOX_KEY_SECONDS = 900

const KEY_DERIVATION_LABEL = 'signalbox sandbox keys v1'
const ID_BYTES = 16
/** Sandbox keys have about 160 characters. Longer tokens are rejected unread. */
const TOKEN_CHARACTERS_MAX = 256
const TOKEN = new RegExp(`^(${TOKEN_PREFIXES.sandbox}[A-Za-z0-9_-]+)\\.([A-Za-z0-9_-]+)$`)

/** Signed, but readable by its holder. */
interface SandboxKeyClaims {
  id: string
  scope: string
  /** Unix milliseconds. */
  expiresAt: number
}

interface SandboxKeys {
  issue(at: Date): { token: string; expiresAt: Date }
  /** Whether the token has a valid signature and is not expired. Never throws. */
  isValid(token: string, at: Date): boolean
}

/**
 * Sandbox keys are stateless: prefix, claims, and an HMAC-SHA256 of both. Every process with the
 * same `secret` accepts them. The signing key is derived from the secret (HKDF, RFC 5869), which
 * may have other uses.
 */
export function createSandboxKeys(secret: Buffer): SandboxKeys {
  const signingKey = deriveKey(secret, KEY_DERIVATION_LABEL)
  const signatureOf = (text: string) =>
    createHmac('sha256', signingKey).update(text).digest('base64url')

  return {
    issue(at) {
      const expiresAt = new Date(at.getTime() + SANDBOX_KEY_SECONDS * 1_000)
      const id = randomBytes(ID_BYTES).toString('base64url')
      const claims: SandboxKeyClaims = { id, scope: SANDBOX_SCOPE, expiresAt: expiresAt.getTime() }
      const signed =
        TOKEN_PREFIXES.sandbox + Buffer.from(JSON.stringify(claims)).toString('base64url')
      return { token: `${signed}.${signatureOf(signed)}`, expiresAt }
    },
    isValid(token, at) {
      if (token.length > TOKEN_CHARACTERS_MAX) return false
      const [, signed, signature] = TOKEN.exec(token) ?? []
      if (signed === undefined || signature === undefined) return false
      if (!isEqualConstantTime(signature, signatureOf(signed))) return false
      const { scope, expiresAt } = decodeClaims(signed)
      return scope === SANDBOX_SCOPE && expiresAt > at.getTime()
    },
  }
}

/** Compares text: the last base64url character may change without changing the bytes. */
function isEqualConstantTime(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Requires a verified signature, which guarantees the format. */
function decodeClaims(signed: string): SandboxKeyClaims {
  const text = Buffer.from(signed.slice(TOKEN_PREFIXES.sandbox.length), 'base64url').toString(
    'utf8',
  )
  return JSON.parse(text) as SandboxKeyClaims
}

interface KeyIssueInput {
  at: Date
  /** The public origin with the base path. */
  baseUrl: string
}

/** Issues a sandbox key with instructions. */
function issueSandboxKey(keys: SandboxKeys, { at, baseUrl }: KeyIssueInput): SandboxKey {
  const { token, expiresAt } = keys.issue(at)
  return {
    api_key: token,
    token_type: 'Bearer',
    expires_in: SANDBOX_KEY_SECONDS,
    expires_at: expiresAt.toISOString(),
    scope: SANDBOX_SCOPE,
    production_access: false,
    use: {
      method: validateSandboxEvent.method,
      url: baseUrl + validateSandboxEvent.url,
      authorization: `Bearer ${token}`,
    },
  }
}
