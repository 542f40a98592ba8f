import { BASE_PATH } from '@signalbox/contract/operations.ts'
import {
  createSandboxKey,
  readSandboxKey,
  SANDBOX_OPERATIONS,
  sandboxDiscovery,
  validateSandboxEvent,
} from '@signalbox/contract/sandbox-operations.ts'
import { type AddressLimit, limitAddresses } from '../access/limit-addresses.ts'
import { bearerToken } from '../http/bearer.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { CORS_HEADERS, preflightHeaders } from './cors-headers.ts'
import { discoveryDocument } from './discovery-document.ts'
import { issueKey } from './issue-key.ts'
import { type SandboxKeys, sandboxKeys } from './sandbox-keys.ts'
import { validateEvent } from './validate-event.ts'

export interface SandboxRoutes {
  /** What sandbox keys are derived from; processes that share it take each other's keys. */
  sandboxKeySecret: Buffer
  now: () => Date
  publicOrigin: () => string
  /** Left out or null: whoever comes may ask as often as it likes. */
  limit?: AddressLimit | null
}

/**
 * The sandbox: it knows no store and no platform (`only-pure-files.test.ts`), so nothing that is
 * sent here can be kept or passed on.
 */
export function sandboxRoutes(app: ServiceApp, context: SandboxRoutes): void {
  const keys = sandboxKeys(context.sandboxKeySecret)
  app.register(async sandbox => {
    // At the end, so that a page also learns of a refusal before it came here.
    sandbox.addHook('onSend', async (_request, reply) => {
      reply.headers({ ...CORS_HEADERS, 'cache-control': 'no-store, private' })
    })
    if (context.limit) limitAddresses(sandbox, context.limit)
    keyRoutes(sandbox, keys, context)
    validationRoute(sandbox, keys, context)
    answerPreflights(sandbox)
  })
}

function keyRoutes(app: ServiceApp, keys: SandboxKeys, { now, publicOrigin }: SandboxRoutes): void {
  const baseUrl = () => publicOrigin() + BASE_PATH
  const newKey = () => issueKey(keys, { at: now(), baseUrl: baseUrl() })

  app.route({
    ...sandboxDiscovery,
    handler: async (_request, reply) =>
      reply.code(200).send(discoveryDocument(baseUrl(), newKey())),
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

function validationRoute(app: ServiceApp, keys: SandboxKeys, { now }: SandboxRoutes): void {
  app.route({
    ...validateSandboxEvent,
    // Before the body is read, as on every route with a credential.
    async onRequest({ headers }) {
      const token = bearerToken(headers.authorization)
      if (token === null || !keys.isValid(token, now())) throw Refusal.unauthenticated()
    },
    async handler({ body, headers }, reply) {
      const idempotencyKey = headers['idempotency-key'] as string | undefined
      return reply.code(200).send(validateEvent({ body, idempotencyKey, receivedAt: now() }))
    },
  })
}

/** A page asks first whether it may send JSON and a key; it may, whatever its origin. */
function answerPreflights(app: ServiceApp): void {
  const urls = new Set(SANDBOX_OPERATIONS.map(({ url }) => url))
  for (const url of urls) {
    const methods = SANDBOX_OPERATIONS.filter(operation => operation.url === url)
    const headers = preflightHeaders(methods.map(({ method }) => method))
    app.options(url, { config: { credential: 'none' } }, async (_request, reply) =>
      reply.code(204).headers(headers).send(),
    )
  }
}
