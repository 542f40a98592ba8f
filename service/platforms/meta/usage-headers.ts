/**
 * How long Meta's rate-limit headers ask us to stay away, in seconds (Meta: Marketing API Rate
 * Limiting). `X-Business-Use-Case-Usage` counts in minutes, `X-Ad-Account-Usage` in seconds.
 * 0 when no header asks for anything; a header that cannot be read counts as absent.
 */
export function usageWaitSeconds(header: (name: string) => string | null): number {
  const businesses = Object.values(parse(header('x-business-use-case-usage')))
  const minutes = businesses
    .flat()
    .map(usage => numberMember(usage, 'estimated_time_to_regain_access'))
  const seconds = numberMember(parse(header('x-ad-account-usage')), 'reset_time_duration')
  const isAccountFull = numberMember(parse(header('x-ad-account-usage')), 'acc_id_util_pct') >= 100
  return Math.max(0, ...minutes.map(value => value * 60), isAccountFull ? seconds : 0)
}

function parse(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function numberMember(value: unknown, name: string): number {
  const member = (value as Record<string, unknown> | null)?.[name]
  return typeof member === 'number' && Number.isFinite(member) ? member : 0
}
