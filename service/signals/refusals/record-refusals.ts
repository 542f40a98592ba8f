import { toRefusal } from '../../runtime/http/error-responses.ts'
import { readBearerToken } from '../../runtime/http/headers.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import { hashTokenToBase64, parseTokenKind } from '../../runtime/util/token-format.ts'
import { parseIdempotencyKey } from '../ingestion/idempotency.ts'
import type { RefusalRecorder, RefusedRequest } from './refusal-recorder.ts'

/** The statuses by which createEvent refuses an event for good, or until its sender slows down. */
const COUNTED_STATUSES = new Set([400, 401, 403, 413, 415, 422, 429])

export interface RefusalContext {
  refusals: RefusalRecorder
  now: () => Date
}

/**
 * Counts every event that createEvent refuses. A request without a credential, or with one that
 * cannot be a key, belongs to no tracker and is not counted.
 */
export function recordRefusals(app: ServiceApp, { refusals, now }: RefusalContext): void {
  app.addHook('onError', (request, _reply, error, done) => {
    const { config, bodyLimit } = request.routeOptions
    if (config.operationId === 'createEvent') {
      const refusal = toRefusal(error, request.url, bodyLimit)
      const sender = findSender(request)
      if (sender && COUNTED_STATUSES.has(refusal.status)) {
        const { id: requestId } = request
        refusals.record({ sender, refusal, requestId, eventId: readEventId(request), at: now() })
      }
    }
    done()
  })
}

interface RefusedSource {
  tracker: { trackerId: string } | null
  headers: { authorization?: string | undefined; 'idempotency-key'?: unknown }
  query: unknown
  body: unknown
}

function findSender({ tracker, headers, query }: RefusedSource): RefusedRequest['sender'] | null {
  if (tracker) return { trackerId: tracker.trackerId }
  const { key } = (query ?? {}) as { key?: unknown }
  const token = readBearerToken(headers.authorization) ?? key
  if (typeof token !== 'string' || parseTokenKind(token) === null) return null
  return { keyDigest: hashTokenToBase64(token) }
}

/** From the body or the header; the body is read only after the credential is accepted. */
function readEventId({ body, headers }: RefusedSource): string | null {
  if (isObject(body) && typeof body.event_id === 'string') return body.event_id
  const key = headers['idempotency-key']
  return typeof key === 'string' ? parseIdempotencyKey(key) : null
}
