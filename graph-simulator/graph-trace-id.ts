import { randomBytes } from 'node:crypto'

const TRACE_BYTES = 16

/** A new name for one request. Meta's begin with "A" and look like base64url. */
export function graphTraceId(): string {
  return `A${randomBytes(TRACE_BYTES).toString('base64url')}`
}
