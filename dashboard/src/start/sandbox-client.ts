import type { SandboxEventResult, SandboxKey } from '@signalbox/contract/sandbox.ts'
import { ApiError } from '../api/client.ts'

const SANDBOX = '/api/v1/sandbox'

export type SandboxAnswer = Pick<SandboxEventResult, 'event_id' | 'message'>

/**
 * Validates the text of an event with a key of its own, as a program would: the session of the
 * page opens nothing here. Throws an `ApiError`.
 */
export async function validateInSandbox(body: string): Promise<SandboxAnswer> {
  const key = (await post('/keys', {})) as SandboxKey
  const headers = { authorization: `Bearer ${key.api_key}`, 'content-type': 'application/json' }
  return (await post('/keyed-events', { headers, body })) as SandboxAnswer
}

async function post(path: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(`${SANDBOX}${path}`, {
    method: 'POST',
    credentials: 'omit',
    ...init,
  }).catch(() => {
    throw new ApiError('Signalbox did not answer. Check your connection.', 0, null)
  })
  const answer = await response.json()
  if (response.ok) return answer
  const requestId = response.headers.get('request-id')
  throw new ApiError(answer.message, response.status, requestId, answer.errors)
}
