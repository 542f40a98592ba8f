import { SANDBOX_SCOPE, type SandboxKey } from '@signalbox/contract/sandbox.ts'
import { validateSandboxEvent } from '@signalbox/contract/sandbox-operations.ts'
import { SANDBOX_KEY_SECONDS, type SandboxKeys } from './sandbox-keys.ts'

export interface Issuing {
  at: Date
  /** The public origin with the base path: what every URL begins with. */
  baseUrl: string
}

/** Makes a sandbox key and says how to use it. */
export function issueKey(keys: SandboxKeys, { at, baseUrl }: Issuing): SandboxKey {
  const { token, expiresAt } = keys.issue(at)
  return {
    api_key: token,
    token_type: 'Bearer',
    expires_in: SANDBOX_KEY_SECONDS,
    expires_at: expiresAt.toISOString(),
    scope: SANDBOX_SCOPE,
    production_access: false,
    use: {
      method: validateSandboxEvent.method,
      url: baseUrl + validateSandboxEvent.url,
      authorization: `Bearer ${token}`,
    },
  }
}
