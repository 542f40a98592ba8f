import type { Operation } from './operations.ts'

type OperationId = Operation['config']['operationId']

/** What an answer means for the caller, where an operation has something of its own to say. */
const OF_OPERATION: Record<OperationId, Record<number, string>> = {
  createEvent: {
    200: 'The tracker has an event with this id already. The first body is kept.',
    202: 'The event is stored durably; its deliveries follow.',
  },
  verifySignalIngestion: {
    200: 'The verification event was there already.',
    202: 'The verification event is stored durably. It is delivered nowhere.',
  },
  getEvent: {
    200: 'The event, its parent and children, and what became of each delivery.',
    400: 'The path is not validly percent-encoded.',
    404: 'This tracker has no such event, whoever else may have it.',
  },
}

const OF_STATUS: Record<number, string> = {
  400: 'The body is not UTF-8, not JSON, or nested deeper than 32 levels.',
  401: 'The tracker secret is missing, mistyped, unknown or revoked.',
  403: 'The secret is valid and came from a browser (Origin header). Revoke it.',
  413: 'The body is larger than 64 KiB.',
  415: 'The body is not sent as application/json.',
  422: 'The request is readable and wrong. Every wrong field is named.',
  500: 'A fault of the service; the Request-Id helps to find it.',
  503: 'Too many events wait, or the store is out of reach. Send the same request again.',
}

/** One sentence for an answer. Throws when nobody wrote one: no status goes undescribed. */
export function responseDescription(operationId: OperationId, status: number): string {
  const description = OF_OPERATION[operationId][status] ?? OF_STATUS[status]
  if (description) return description
  throw new Error(`the answer ${status} of ${operationId} has no description`)
}
