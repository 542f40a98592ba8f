import { type GoogleError, refused } from './google-errors.ts'
import type { DestinationResult, GoogleState } from './google-state.ts'

const PREFIX = 'PROCESSING_ERROR_REASON_'

/**
 * GET /v1/requestStatus:retrieve?requestId=. Counts by reason and destination; it never names an
 * event. Requests with `validateOnly` have no result.
 */
export function retrieveRequestStatus(
  { requests, options }: GoogleState,
  { requestId, at }: { requestId: string; at: Date },
): Record<string, unknown> | GoogleError {
  const request = requests.get(requestId)
  if (request === undefined) return refused(400, 'INVALID_REQUEST_ID', 'There is no such request.')
  const readyAt = request.receivedAt.getTime() + options.processing_seconds * 1_000
  const isReady = at.getTime() >= readyAt
  return {
    requestStatusPerDestination: request.destinations.map(destination => ({
      destination: formatDestination(destination),
      requestStatus: isReady ? statusOf(destination) : 'PROCESSING',
      ...(isReady && formatCounts(destination)),
    })),
  }
}

function formatDestination({ account, reference, conversionAction }: DestinationResult) {
  return {
    ...(reference !== undefined && { reference }),
    operatingAccount: { accountType: 'GOOGLE_ADS', accountId: account },
    productDestinationId: conversionAction,
  }
}

function statusOf({ errors, recordCount }: DestinationResult): string {
  const failed = [...errors.values()].reduce((sum, count) => sum + count, 0)
  if (failed === 0) return 'SUCCESS'
  return failed >= recordCount ? 'FAILED' : 'PARTIAL_SUCCESS'
}

/** An int64 is text in the JSON of protocol buffers. */
function formatCounts({ errors, recordCount }: DestinationResult) {
  const errorCounts = [...errors].map(([reason, count]) => ({
    recordCount: String(count),
    reason: PREFIX + reason,
  }))
  return {
    ...(errorCounts.length > 0 && { errorInfo: { errorCounts } }),
    eventsIngestionStatus: { recordCount: String(recordCount) },
  }
}
