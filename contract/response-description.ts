import { AGENT_ACTION_RESPONSE_DESCRIPTIONS } from './agent-action-operations.ts'
import { AGENT_RESPONSE_DESCRIPTIONS } from './agent-operations.ts'
import type { DocumentedOperation } from './operations.ts'
import { SANDBOX_RESPONSE_DESCRIPTIONS } from './sandbox-operations.ts'

/** 400 of an operation without a body. */
const AMBIGUOUS_REQUEST =
  'The head of the request is ambiguous (a header stands twice, or the Host is none), or its ' +
  'path is not validly percent-encoded.'

type OperationId = DocumentedOperation['config']['operationId']

/** What an answer means for the caller, where an operation has something of its own to say. */
const OPERATION_DESCRIPTIONS: Record<OperationId, Record<number, string>> = {
  ...SANDBOX_RESPONSE_DESCRIPTIONS,
  ...AGENT_RESPONSE_DESCRIPTIONS,
  ...AGENT_ACTION_RESPONSE_DESCRIPTIONS,
  createEvent: {
    200: 'The tracker has an event with this id already. The first body is kept.',
    202: 'The event is stored durably; its deliveries follow.',
    401: 'The credential is missing, mistyped, unknown or revoked, or a signature is wrong.',
    403:
      'A valid tracker secret came from a browser (Origin header): revoke it. Or the publishable ' +
      'key is not registered for the origin of the page.',
    415: 'The body is not application/json, nor text/plain with a publishable key.',
  },
  verifySignalIngestion: {
    200: 'The verification event was there already.',
    202: 'The verification event is stored durably. It is delivered nowhere.',
  },
  getEvent: {
    200: 'The event, its parent and children, and what became of each delivery.',
    404: 'This tracker has no such event, whoever else may have it.',
  },
  listEvents: {
    200: 'The page, and the metrics of the last seven days.',
    422: 'The page or per_page is no positive integer.',
  },
  getReconciliationReport: {
    200: 'The reports of the day; empty before they are made.',
    422: 'The date is missing or no calendar day.',
  },
  getEmqReport: {
    200: 'The snapshots, the newest first; empty before the first is made.',
  },
  deleteUserData: {
    200: 'Nothing that was stored names the person any more.',
    503: 'Not everything is erased yet, or the store is unavailable. Send the same request again.',
  },
  setDestinationTestMode: {
    200: 'The destination as it is now, and whether its test mode is on.',
    404: 'This tracker has no such destination, whoever else may have it.',
  },
  sendTestPurchase: {
    200: 'The platform accepted the test purchase.',
    404: 'This tracker has no such destination, whoever else may have it.',
    422: 'Test mode is off (a message alone), or the body is wrong (every wrong field is named).',
    502: 'The platform did not accept the test purchase; the event tells why.',
    503: 'The store is unavailable, or this process knows no platform. Nothing was sent.',
  },
  replayDeliveries: {
    200: 'How many deliveries are sent again, and how many cannot be.',
  },
}

const STATUS_DESCRIPTIONS: Record<number, string> = {
  400: 'The body is not UTF-8, not JSON, nested deeper than 32 levels, or names a member twice.',
  401: 'The tracker secret is missing, mistyped, unknown or revoked.',
  403: 'The secret is valid and came from a browser (Origin header). Revoke it.',
  413: 'The body is larger than 64 KiB.',
  415: 'The body is not sent as application/json.',
  422: 'The request is readable and wrong. Every wrong field is named.',
  429: 'Requests come faster than they may. Send the same request again after Retry-After.',
  500: 'A fault of the service; the Request-Id helps to find it.',
  503: 'The service is overloaded, or the store is unavailable. Send the same request again.',
}

/** One sentence for an answer. Throws when nobody wrote one: no status goes undescribed. */
export function describeResponse(
  { method, config: { operationId } }: DocumentedOperation,
  status: number,
): string {
  if (status === 400 && method === 'GET') return AMBIGUOUS_REQUEST
  const description = OPERATION_DESCRIPTIONS[operationId][status] ?? STATUS_DESCRIPTIONS[status]
  if (description) return description
  throw new Error(`the answer ${status} of ${operationId} has no description`)
}
