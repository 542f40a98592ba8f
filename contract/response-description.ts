import { AGENT_ACTION_RESPONSE_DESCRIPTIONS } from './agent-action-operations.ts'
import { AGENT_RESPONSE_DESCRIPTIONS } from './agent-operations.ts'
import { BODY_BYTES_MAX, describeBodyTooLarge } from './errors.ts'
import { BATCH_BYTES_MAX, NDJSON_MEDIA_TYPE } from './event-batches.ts'
import type { DocumentedOperation } from './operations.ts'
import { REPLAY_BYTES_MAX } from './replays.ts'
import { SANDBOX_RESPONSE_DESCRIPTIONS } from './sandbox-operations.ts'

/** 400 of an operation without a body. */
const AMBIGUOUS_REQUEST =
  'The request is ambiguous (a header is repeated, or the Host is invalid), or its path is not ' +
  'validly percent-encoded.'

type OperationId = DocumentedOperation['config']['operationId']

/** Descriptions of responses that are specific to an operation. */
const OPERATION_DESCRIPTIONS: Record<OperationId, Record<number, string>> = {
  ...SANDBOX_RESPONSE_DESCRIPTIONS,
  ...AGENT_RESPONSE_DESCRIPTIONS,
  ...AGENT_ACTION_RESPONSE_DESCRIPTIONS,
  createEvent: {
    200: 'The tracker already has an event with this ID. The first body is kept.',
    202: 'The event is stored durably; its deliveries follow.',
    401: 'The credential is missing, mistyped, unknown or revoked, or a signature is wrong.',
    403:
      'A valid tracker secret came from a browser (Origin header): revoke it. Or the publishable ' +
      'key is not registered for the origin of the page.',
    415: 'The body is not application/json, nor text/plain with a publishable key.',
  },
  createEvents: {
    200: 'One result for each event, in the order of the request.',
    401: 'The credential is missing, mistyped, unknown or revoked, or a signature is wrong.',
    403:
      'A valid tracker secret came from a browser (Origin header): revoke it. Or the publishable ' +
      'key is not registered for the origin of the page.',
    413: `The body is larger than ${BATCH_BYTES_MAX} bytes, as sent or decompressed.`,
    415:
      `The body is neither application/json nor ${NDJSON_MEDIA_TYPE}, nor text/plain with a ` +
      'publishable key; or it has a coding other than gzip and zstd.',
    422: 'There is no event, or too many, or an Idempotency-Key. Nothing is stored.',
  },
  verifySignalIngestion: {
    200: 'The verification event already exists.',
    202: 'The verification event is stored durably. It is never delivered.',
  },
  getEvent: {
    200: 'The event, its parent and children, and the status of each delivery.',
    404: 'This tracker has no such event.',
  },
  listEvents: {
    200: 'The page, and the metrics of the last seven days.',
    422: 'The page or per_page is not a positive integer, or is too large.',
  },
  getReconciliationReport: {
    200: 'The reports of the day; empty until they exist.',
    422: 'The date is missing or is not a calendar day.',
  },
  getEmqReport: {
    200: 'The snapshots, newest first; empty before the first one.',
  },
  deleteUserData: {
    200: 'No stored data identifies the person.',
    503: 'The erasure is incomplete, or the store is unavailable. Retry the request.',
  },
  listWithdrawals: {
    200: 'The withdrawals, latest first; empty when no page sent one.',
    422: 'The state or the cursor is invalid.',
  },
  liftWithdrawals: {
    200: 'How many withdrawals were lifted, and what happens to the deliveries they stopped.',
  },
  setDestinationTestMode: {
    200: 'The current destination, and whether its test mode is on.',
    404: 'This tracker has no such destination.',
  },
  sendTestPurchase: {
    200: 'The platform accepted the test purchase.',
    404: 'This tracker has no such destination.',
    422: 'Test mode is off (message only), or the body is invalid (errors name each field).',
    502: 'The platform did not accept the test purchase. The event has the reason.',
    503: 'The store is unavailable, or this process has no platform. Nothing was sent.',
  },
  replayDeliveries: {
    413: describeBodyTooLarge(REPLAY_BYTES_MAX),
    200: 'How many deliveries are replayed, and how many cannot be.',
  },
}

const STATUS_DESCRIPTIONS: Record<number, string> = {
  400: 'The body is not UTF-8, not JSON, nested deeper than 32 levels, or repeats a member.',
  401: 'The tracker secret is missing, mistyped, unknown or revoked.',
  403: 'The secret is valid but came from a browser (Origin header). Revoke it.',
  413: describeBodyTooLarge(BODY_BYTES_MAX),
  415: 'The body is not sent as application/json.',
  422: 'The request is invalid. Errors name every invalid field.',
  429: 'Too many requests. Retry after Retry-After.',
  500: 'An internal error. Quote the Request-Id when you report it.',
  503: 'The service is overloaded, or the store is unavailable. Retry after Retry-After.',
}

/** The description of a response. Throws when it is missing, so every status has one. */
export function describeResponse(
  { method, config: { operationId } }: DocumentedOperation,
  status: number,
): string {
  if (status === 400 && method === 'GET') return AMBIGUOUS_REQUEST
  const description = OPERATION_DESCRIPTIONS[operationId][status] ?? STATUS_DESCRIPTIONS[status]
  if (description) return description
  throw new Error(`the response ${status} of ${operationId} has no description`)
}
