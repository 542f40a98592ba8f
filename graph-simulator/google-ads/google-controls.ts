import { checkObject, type FieldErrors, text } from '../field-check.ts'
import {
  type HttpResponse,
  invalidBodyResponse,
  jsonResponse,
  messageResponse,
} from '../http-messages.ts'
import { createFaultControls, readLimit } from '../shared-controls.ts'
import type { ControlHandler, ControlRequest, SimulatorState } from '../simulator-state.ts'
import type { Conversion } from './conversions.ts'
import { parseGoogleFaultRules } from './google-faults.ts'
import { DEFAULT_OPTIONS, parseOptions } from './google-options.ts'
import { clearReceived, type GoogleReceipt } from './google-state.ts'
import { addServiceAccount } from './token-endpoint.ts'

/** The endpoints under /_simulator/google, which let a test inspect and control this part. */
export const GOOGLE_CONTROLS: Record<string, Record<string, ControlHandler>> = {
  '/_simulator/google/received': { GET: showReceived, DELETE: removeReceived },
  '/_simulator/google/conversions': { GET: showConversions },
  '/_simulator/google/summary': { GET: showSummary },
  '/_simulator/google/faults': createFaultControls(
    ({ google }) => google.faults,
    parseGoogleFaultRules,
  ),
  '/_simulator/google/options': { GET: showOptions, POST: replaceOptions, DELETE: resetOptions },
  '/_simulator/google/service-accounts': { POST: registerServiceAccount },
}

function showReceived({ google }: SimulatorState, { query }: ControlRequest): HttpResponse {
  const matches = google.receipts.filter(
    ({ account, conversionAction, event, requestId }) =>
      isAsked(query, 'account', account) &&
      isAsked(query, 'conversion_action', conversionAction) &&
      isAsked(query, 'transaction_id', event.transactionId) &&
      isAsked(query, 'request_id', requestId),
  )
  const events = matches.slice(0, readLimit(query)).map(formatReceipt)
  return jsonResponse(200, { count: matches.length, events })
}

function isAsked(query: URLSearchParams, name: string, value: string): boolean {
  return (query.get(name) ?? value) === value
}

function formatReceipt(receipt: GoogleReceipt): Record<string, unknown> {
  return {
    account: receipt.account,
    conversion_action: receipt.conversionAction,
    transaction_id: receipt.event.transactionId,
    event: receipt.event,
    outcome: receipt.outcome,
    validate_only: receipt.validateOnly,
    request_id: receipt.requestId,
    received_at: receipt.receivedAt.toISOString(),
  }
}

function removeReceived({ google }: SimulatorState, { query }: ControlRequest): HttpResponse {
  // Ignoring a filter would delete more than the caller meant.
  if (query.size > 0) return messageResponse(422, 'This deletes everything and takes no filter.')
  return jsonResponse(200, { forgotten: clearReceived(google) })
}

function conversionFilter(query: URLSearchParams): (conversion: Conversion) => boolean {
  return conversion =>
    (['account', 'conversion_action', 'transaction_id'] as const).every(name =>
      isAsked(query, name, conversion[name]),
    )
}

function showConversions({ google }: SimulatorState, { query }: ControlRequest): HttpResponse {
  const matches = google.conversions.list(conversionFilter(query))
  const conversions = matches.slice(0, readLimit(query))
  return jsonResponse(200, { count: matches.length, conversions })
}

function showSummary({ google }: SimulatorState, { query }: ControlRequest): HttpResponse {
  const { requests, refusedRequests, validatedRequests } = google.totals
  const matches = conversionFilter(query)
  const conversions = google.conversions.list(matches)
  const live = google.receipts.filter(({ validateOnly }) => !validateOnly)
  return jsonResponse(200, {
    requests,
    refused_requests: refusedRequests,
    validated_requests: validatedRequests,
    receipts: live.filter(({ account }) => isAsked(query, 'account', account)).length,
    conversions: conversions.length,
    restated: conversions.reduce((sum, { restated }) => sum + restated, 0),
    value_by_currency: google.conversions.sumValues(matches),
  })
}

function showOptions({ google }: SimulatorState): HttpResponse {
  return jsonResponse(200, google.options)
}

function replaceOptions(state: SimulatorState, { body }: ControlRequest): HttpResponse {
  const parsed = parseOptions(body)
  if ('fieldErrors' in parsed) return invalidBodyResponse(parsed.fieldErrors)
  state.google.options = parsed
  return showOptions(state)
}

function resetOptions(state: SimulatorState): HttpResponse {
  state.google.options = DEFAULT_OPTIONS
  return showOptions(state)
}

const EMAIL_LENGTH_MAX = 254
const KEY_LENGTH_MAX = 10_000

function registerServiceAccount(
  { google }: SimulatorState,
  { body }: ControlRequest,
): HttpResponse {
  const errors: FieldErrors = {}
  const members = { client_email: text(1, EMAIL_LENGTH_MAX), public_key: text(1, KEY_LENGTH_MAX) }
  checkObject(body, { path: '', members, required: Object.keys(members) }, errors)
  if (Object.keys(errors).length > 0) return invalidBodyResponse(errors)
  const account = body as { client_email: string; public_key: string }
  const problem = addServiceAccount(google.tokens, account)
  if (problem !== undefined) return invalidBodyResponse({ public_key: [problem] })
  return jsonResponse(200, { registered: google.tokens.serviceAccounts.size })
}
