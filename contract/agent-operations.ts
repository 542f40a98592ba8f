import Type, { type Static } from 'typebox'
import { READ_ERRORS } from './errors.ts'
import { named, timestamp } from './scalars.ts'

/** Answer of getAgentContext: what an agent was approved for, and nothing beyond it. */
export const AgentContext = named(
  'AgentContext',
  Type.Object({
    connection: Type.Object({
      id: Type.Integer(),
      name: Type.String({ description: 'As the workspace calls it.' }),
      approved_at: timestamp('When a person approved it.'),
    }),
    client: Type.Object({
      name: Type.String({ description: 'As the client registered itself; not verified.' }),
    }),
    permissions: Type.Array(Type.String({ enum: ['ad-account.read', 'actions.propose'] }), {
      description: 'What was approved for this ad account.',
    }),
    ad_account: Type.Object({
      id: Type.Integer({ description: "Ours, not the platform's number." }),
      name: Type.String(),
      platform: Type.String(),
      currency: Type.String({ description: 'ISO 4217.' }),
      time_zone: Type.String({ description: 'IANA time zone.' }),
    }),
    workspace: Type.Object({ id: Type.Integer(), name: Type.String() }),
    signals: Type.Object({
      tracker_connected: Type.Boolean({
        description: 'A tracker of the workspace has stored an event.',
      }),
      dataset_connected: Type.Boolean({
        description: 'An active destination delivers for this ad account.',
      }),
    }),
  }),
)
export type AgentContext = Static<typeof AgentContext>

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
    summary: 'What this connection is approved for',
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
  schema: { response: { 200: AgentContext, ...READ_ERRORS } },
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
