export interface PageHeaders {
  /**
   * Origins that a form of this page may lead to besides ours: browsers hold a redirect after a
   * form to `form-action` as well (CSP Level 3, 4.2.2). Native schemes stand as `scheme:`.
   */
  formTargets?: readonly string[]
}

/** On every page, in place of the headers of the JSON interface. */
export function pageHeaders({ formTargets = [] }: PageHeaders = {}): Record<string, string> {
  const formAction = ["'self'", ...formTargets].join(' ')
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy':
      `default-src 'none'; style-src 'self'; img-src 'self' data:; form-action ${formAction}; ` +
      "frame-ancestors 'none'; base-uri 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    // A link of a mail carries a token, which must not travel on to another site. Not
    // `no-referrer`: with it browsers write `Origin: null` on our own forms (Fetch standard, 3.2).
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}
