/** RFC 6750: `Authorization: Bearer <token>`. The scheme's case does not matter. */
export function bearerToken(authorization: string | undefined): string | null {
  const match = authorization?.match(/^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i)
  return match?.[1] ?? null
}
