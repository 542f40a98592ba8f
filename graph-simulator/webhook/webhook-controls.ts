import { checkObject, type FieldErrors, list, text } from '../field-check.ts'
import { type HttpResponse, invalidBodyResponse, jsonResponse } from '../http-messages.ts'
import { createFaultControls, readLimit } from '../shared-controls.ts'
import type { ControlHandler, ControlRequest, SimulatorState } from '../simulator-state.ts'
import { clearMessages, parseWebhookFaultRules } from './webhook-state.ts'

/** The endpoints under /_simulator/webhook, which let a test inspect and control this part. */
export const WEBHOOK_CONTROLS: Record<string, Record<string, ControlHandler>> = {
  '/_simulator/webhook/received': { GET: showReceived, DELETE: removeReceived },
  '/_simulator/webhook/faults': createFaultControls(
    ({ webhook }) => webhook.faults,
    parseWebhookFaultRules,
  ),
  '/_simulator/webhook/secrets': { POST: registerSecrets },
}

/** Messages in the order of arrival, of one endpoint with `url`. */
function showReceived({ webhook }: SimulatorState, { query }: ControlRequest): HttpResponse {
  const url = query.get('url')
  const matches = webhook.messages.filter(one => url === null || one.url === url)
  const messages = matches
    .slice(0, readLimit(query))
    .map(({ isTest, isRepeat, receivedAt, ...message }) => ({
      ...message,
      test: isTest,
      repeat: isRepeat,
      received_at: receivedAt.toISOString(),
    }))
  const { refusedRequests } = webhook
  return jsonResponse(200, { count: matches.length, refused_requests: refusedRequests, messages })
}

function removeReceived({ webhook }: SimulatorState): HttpResponse {
  return jsonResponse(200, { forgotten: clearMessages(webhook) })
}

const ENDPOINTS_MAX = 10_000
const SECRETS_MAX = 10

/** From now on the endpoint takes these secrets and no others. */
function registerSecrets({ webhook }: SimulatorState, { body }: ControlRequest): HttpResponse {
  const errors: FieldErrors = {}
  const members = { url: text(1, 2_000), secrets: list(text(1, 200), SECRETS_MAX) }
  checkObject(body, { path: '', members, required: ['url', 'secrets'] }, errors)
  if (webhook.secrets.size >= ENDPOINTS_MAX) errors.url = ['There are too many endpoints.']
  if (Object.keys(errors).length > 0) return invalidBodyResponse(errors)
  const { url, secrets } = body as { url: string; secrets: string[] }
  webhook.secrets.set(url, secrets)
  return jsonResponse(200, { registered: webhook.secrets.size })
}
