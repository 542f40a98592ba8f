const WAIT_SECONDS_MAX = 30
const WAIT_SECONDS_DEFAULT = 1

/**
 * How many seconds to wait before the same request again, from `Retry-After` (RFC 9110). The
 * header's other form, a date, counts as no header.
 */
export function retryAfterSeconds(header: string | null): number {
  if (header === null || !/^\d{1,9}$/.test(header)) return WAIT_SECONDS_DEFAULT
  return Math.min(Number(header), WAIT_SECONDS_MAX)
}
