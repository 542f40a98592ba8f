import { type GraphRefusal, invalidToken, revokedToken } from './graph-refusal.ts'

/** Any token opens every dataset until a test takes it back at /_simulator/tokens. */
export function checkAccessToken(
  revokedTokens: Set<string>,
  token: string | undefined,
): GraphRefusal | undefined {
  if (token === undefined || token === '') return invalidToken()
  return revokedTokens.has(token) ? revokedToken() : undefined
}
