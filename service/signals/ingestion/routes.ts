import { createEvents } from '@signalbox/contract/event-batches.ts'
import {
  BASE_PATH,
  createEvent,
  sendTestPurchase,
  verifySignalIngestion,
} from '@signalbox/contract/operations.ts'
import { ingestionPreflightHeaders } from '../../runtime/http/headers.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import type { DeliveryContext } from '../delivery/delivery-context.ts'
import type { EventSpace } from '../events/event-record.ts'
import type { ErasureKeyProvider } from '../events/person-identifiers.ts'
import {
  acceptEvent,
  findTrackerPlatforms,
  prepareSubmission,
  toAnswer,
  verifyIngestion,
} from './accept-event.ts'
import { type BatchContext, batchRoutes } from './create-events.ts'
import { formatIdempotencyKey } from './idempotency.ts'
import { requirePlatform, sendTestPurchase as send } from './send-test-purchase.ts'

export interface IngestionContext extends BatchContext {
  publicOrigin: () => string
}

export function ingestionRoutes(app: ServiceApp, context: IngestionContext): void {
  const locationOf = (eventId: string, space: EventSpace = 'secret') => {
    const path = `${BASE_PATH}/events/${encodeURIComponent(eventId)}`
    return `${context.publicOrigin()}${path}${space === 'publishable' ? '?space=publishable' : ''}`
  }

  app.route({
    ...createEvent,
    async handler(request, reply) {
      const prepared = await prepareSubmission(context, request, {
        platforms: await findTrackerPlatforms(context, request.tracker),
        body: request.body,
        bodyBytes: request.bodyBytes,
        idempotencyKey: request.headers['idempotency-key'] as string | undefined,
        receivedAt: context.now(),
      })
      // Release the raw identifiers while the event waits for its commit.
      ;(request as { body: unknown }).body = undefined
      const accepted = await acceptEvent(context, prepared)
      reply.header('location', locationOf(accepted.eventId, accepted.space))
      echoIdempotencyKey(reply, accepted.eventId)
      const { status, body } = toAnswer(accepted)
      return reply.code(status).send(body)
    },
  })

  batchRoutes(app, context)

  // CORS preflight: pages send JSON and a key.
  for (const { url } of [createEvent, createEvents]) {
    app.options(url, { config: { credential: 'none' } }, async (request, reply) => {
      const { origin } = request.headers
      reply.header('allow', 'POST, OPTIONS')
      if (origin !== undefined) reply.headers(ingestionPreflightHeaders(origin))
      return reply.code(204).send()
    })
  }

  app.route({
    ...verifySignalIngestion,
    async handler(request, reply) {
      const verified = await verifyIngestion(context, request.tracker, context.now())
      const event_id = verified.eventId
      reply.header('location', locationOf(event_id))
      if (verified.isDuplicate) return reply.code(200).send({ event_id, duplicate: true })
      return reply.code(202).send({ event_id, duplicate: false })
    },
  })
}

interface ReplyWriter {
  header(name: string, value: string): unknown
  type(contentType: string): unknown
  serializer(serialize: (body: unknown) => string): unknown
}

/**
 * Returns the event ID in the `Idempotency-Key` header. Node writes headers in the encoding of the
 * body. If the body is text, that is UTF-8, which would encode the bytes of the ID a second time.
 */
function echoIdempotencyKey(reply: ReplyWriter, eventId: string): void {
  const text = formatIdempotencyKey(eventId)
  reply.header('idempotency-key', text)
  if (/^[ -~]*$/.test(text)) return
  reply.type('application/json; charset=utf-8')
  // Fastify accepts bytes from a serializer, but its types allow only text.
  reply.serializer(body => Buffer.from(JSON.stringify(body)) as unknown as string)
}

export interface TestPurchaseContext {
  /** Null in a process without a platform URL. */
  delivery: DeliveryContext | null
  erasureKey: ErasureKeyProvider
}

export function testPurchaseRoutes(
  app: ServiceApp,
  { delivery, erasureKey }: TestPurchaseContext,
): void {
  app.route({
    ...sendTestPurchase,
    async handler({ tracker: { trackerId }, params, body }, reply) {
      const sending = { ...requirePlatform(delivery), erasureKey }
      const { destination: destinationId } = readPathParameters(params, 'destination')
      const { purchase } = await send(sending, { trackerId, destinationId, body })
      if (purchase.status === 'accepted') return reply.code(200).send(purchase)
      // A retry would send another purchase.
      return reply.code(502).header('x-should-retry', 'false').send(purchase)
    },
  })
}
