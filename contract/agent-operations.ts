import { AgentContext } from './agent-context.ts'
import { READ_REFUSALS } from './refusals.ts'

/** OpenAPI, Security Requirement. */
const OAUTH_MANAGEMENT: readonly Record<string, readonly string[]>[] = [
  { oauthManagement: ['ad-account.read'] },
]

/**
 * What agents call with a credential that a person approved. Not among the ten operations of the
 * REST contract; `credential` is what the route asks for by itself.
 */
export const getAgentContext = {
  method: 'GET',
  url: '/agent/context',
  config: {
    operationId: 'getAgentContext',
    summary: 'What this connection was approved for',
    description:
      'The connection, the one ad account and workspace that a person bound it to, and whether ' +
      'signals arrive. Read-only. It takes the OAuth management credential alone, a token of the ' +
      'resource {base_url}/agent; no other credential opens it, and it opens nothing else.',
    tag: 'Agents',
    credential: 'agent',
    security: OAUTH_MANAGEMENT,
    requestHeaders: [],
    responseHeaders: [],
  },
  schema: { response: { 200: AgentContext, ...READ_REFUSALS } },
} as const

export const AGENT_OPERATIONS = [getAgentContext] as const
export type AgentOperation = (typeof AGENT_OPERATIONS)[number]

/** What an answer means for the caller, where the statuses alone do not say it. */
export const AGENT_RESPONSE_DESCRIPTIONS: Record<
  AgentOperation['config']['operationId'],
  Record<number, string>
> = {
  getAgentContext: {
    200: 'What the connection is for, as it is now.',
    401:
      'The token is missing, expired or revoked, or of another kind; or the person, the ' +
      'workspace or the ad account is disabled. Stop using it; the challenge leads to the ' +
      'metadata.',
    403: 'The connection lacks the permission ad-account.read.',
  },
}
