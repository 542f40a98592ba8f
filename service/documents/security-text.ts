/** RFC 9116 advises less than a year: after that, nobody should believe the page. */
const VALID_DAYS = 180
const DAY_MILLISECONDS = 86_400_000

export interface SecurityPage {
  contact: string
  origin: string
  at: Date
}

/**
 * `security.txt` (RFC 9116): where a hole in this installation is reported. It expires a fixed time
 * after the day on which it is read, because whoever runs the service answers for the setting.
 */
export function securityText({ contact, origin, at }: SecurityPage): string {
  const day = Math.floor(at.getTime() / DAY_MILLISECONDS)
  const expires = new Date((day + VALID_DAYS) * DAY_MILLISECONDS)
  return [
    `Contact: ${contact}`,
    `Expires: ${expires.toISOString()}`,
    `Canonical: ${origin}/.well-known/security.txt`,
    '',
  ].join('\n')
}
