import type { SimulatorState } from '../simulator-state.ts'
import type { EventOutcome } from './conversions.ts'
import { type GoogleError, invalidRequest, refused } from './google-errors.ts'
import type { ScriptedError } from './google-options.ts'
import type { DestinationResult, GoogleReceipt, GoogleState } from './google-state.ts'
import { SCOPE } from './token-endpoint.ts'
import type { IngestedDestination, IngestedEvent, IngestRequest } from './validate-ingest.ts'
import { validateIngest } from './validate-ingest.ts'

interface ApiRequest {
  authorization: string | undefined
  /** The header `x-goog-user-project`. */
  userProject: string | undefined
  at: Date
}

export interface IngestPost extends ApiRequest {
  /** The parsed body; undefined when it is not JSON. */
  body: unknown
  requestId: string
}

/** The token, then what the project has left of its budget. Undefined when both are there. */
export function checkAccess(state: SimulatorState, request: ApiRequest): GoogleError | undefined {
  const { authorization = '', userProject, at } = request
  const token = /^Bearer\s+(\S+)$/i.exec(authorization)?.[1] ?? ''
  const { google } = state
  const minted = google.tokens.find(token)
  const isExpired = minted !== undefined && minted.expiresAt <= at.getTime()
  if (token === '' || state.revokedTokens.has(token) || isExpired) {
    return refused(401, 'ACCESS_TOKEN_EXPIRED', 'The request had invalid credentials.')
  }
  if (minted !== undefined && !minted.scope.split(' ').includes(SCOPE)) {
    const reason = 'ACCESS_TOKEN_SCOPE_INSUFFICIENT'
    return refused(403, reason, 'Request had insufficient authentication scopes.')
  }
  const project = userProject ?? minted?.project ?? token
  if (google.budgets.take(project, at, google.options)) return undefined
  return refused(429, 'RESOURCE_EXHAUSTED', 'The quota of the project is used up.')
}

interface IngestAnswer {
  requestId: string
  fieldWarnings: { field: string; reason: string; description: string }[]
}

/**
 * POST /v1/events:ingest. One bad required field refuses the whole request. An answer without an
 * error is a receipt: the result is asked for later.
 */
export function ingestEvents(
  state: SimulatorState,
  { body, requestId, at }: IngestPost,
): IngestAnswer | GoogleError {
  const { google } = state
  if (body === undefined) return refused(400, 'INVALID_ARGUMENT', 'Invalid JSON payload received.')
  const { errors, warnings } = validateIngest(body, at)
  if (errors.length > 0) return invalidRequest(errors)
  const request = body as IngestRequest
  if (request.validateOnly) google.totals.validatedRequests += 1
  else google.totals.requests += 1
  const destinations = request.destinations.map(destination =>
    ingestForDestination(google, { request, destination, requestId, at }),
  )
  if (!request.validateOnly) google.requests.set(requestId, { receivedAt: at, destinations })
  return { requestId, fieldWarnings: warnings }
}

interface DestinationInput {
  request: IngestRequest
  destination: IngestedDestination
  requestId: string
  at: Date
}

function ingestForDestination(
  google: GoogleState,
  { request, destination, requestId, at }: DestinationInput,
): DestinationResult {
  const { reference, operatingAccount, productDestinationId: conversionAction } = destination
  const account = operatingAccount.accountId
  const events = request.events.filter(event => isFor(event, reference))
  const result: DestinationResult = {
    account,
    reference,
    conversionAction,
    recordCount: events.length,
    errors: new Map(),
  }
  const validateOnly = request.validateOnly === true
  for (const event of events) {
    const outcome = validateOnly
      ? null
      : (findScripted(google.options.errors, { account, conversionAction, event }) ??
        google.conversions.ingest({
          account,
          conversionAction,
          event,
          consent: request.consent,
          at,
        }))
    if (outcome !== null && outcome !== 'new' && outcome !== 'restated') {
      result.errors.set(outcome, (result.errors.get(outcome) ?? 0) + 1)
    }
    const receipt = { account, conversionAction, event, outcome, validateOnly, requestId }
    keepReceipt(google, { ...receipt, receivedAt: at })
  }
  return result
}

/** An event without references goes to every destination of its request. */
function isFor({ destinationReferences = [] }: IngestedEvent, reference: string | undefined) {
  return (
    destinationReferences.length === 0 ||
    (reference !== undefined && destinationReferences.includes(reference))
  )
}

function findScripted(
  errors: readonly ScriptedError[],
  received: Pick<GoogleReceipt, 'account' | 'conversionAction' | 'event'>,
): EventOutcome | undefined {
  const found = errors.find(
    ({ account, conversion_action, transaction_id }) =>
      (account ?? received.account) === received.account &&
      (conversion_action ?? received.conversionAction) === received.conversionAction &&
      (transaction_id ?? received.event.transactionId) === received.event.transactionId,
  )
  return found?.reason as EventOutcome | undefined
}

function keepReceipt(google: GoogleState, receipt: GoogleReceipt): void {
  google.receipts.push(receipt)
  // Dropping a half at a time costs nothing per event.
  if (google.receipts.length <= google.eventsMax) return
  google.receipts = google.receipts.slice(Math.ceil(google.eventsMax / 2))
}
