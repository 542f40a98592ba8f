/** What hooks learn about an attempt. It contains no credential and no body. */
export interface RequestInfo {
  /** Such as `events.create`. */
  operation: string
  method: string
  /** Below the base URL, without the query. */
  path: string
  /** From 1. */
  attempt: number
  /** Headers to add to this attempt, such as `traceparent`; empty at first. */
  headers: Record<string, string>
}

export interface ResponseInfo extends RequestInfo {
  /** Null when no answer came. */
  status: number | null
  requestId: string | null
  /** How long the attempt took, body included. */
  milliseconds: number
}

export interface RetryInfo extends RequestInfo {
  delayMilliseconds: number
}

/** What a success says that a program may not expect. */
export interface WarningInfo {
  /** Such as `events.create`. */
  operation: string
  eventId: string
  /** That of the notice: `differs_from_stored`. */
  code: string
  message: string
}

/** Called around each attempt. What a hook throws, the call throws. */
export interface Hooks {
  onRequest?: ((request: RequestInfo) => void) | undefined
  onResponse?: ((response: ResponseInfo) => void) | undefined
  onRetry?: ((retry: RetryInfo) => void) | undefined
  /** A duplicate differs from what is stored under its id. On the console by default. */
  onWarning?: ((warning: WarningInfo) => void) | undefined
}
