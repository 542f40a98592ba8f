import Type, { type Static } from 'typebox'
import { Permission } from './agents/actions.ts'
import { READ_ERRORS } from './errors.ts'
import { named, timestamp } from './scalars.ts'

/** Response of getAgentContext: only what the agent was approved for. */
export const AgentContext = named(
  'AgentContext',
  Type.Object({
    connection: named(
      'AgentConnection',
      Type.Object({
        id: Type.Integer(),
        name: Type.String({ description: 'The name that the workspace gave it.' }),
        approved_at: timestamp('When a person approved it.'),
      }),
    ),
    client: named(
      'AgentClient',
      Type.Object({
        name: Type.String({
          description: 'The name under which the client registered; not verified.',
        }),
      }),
    ),
    permissions: Type.Array(Permission, {
      description: 'What was approved for this ad account.',
    }),
    ad_account: named(
      'AdAccount',
      Type.Object({
        id: Type.Integer({ description: "The id in Signalbox, not the platform's number." }),
        name: Type.String(),
        platform: Type.String(),
        currency: Type.String({ description: 'ISO 4217.' }),
        time_zone: Type.String({ description: 'IANA time zone.' }),
      }),
    ),
    workspace: named('Workspace', Type.Object({ id: Type.Integer(), name: Type.String() })),
    signals: named(
      'SignalState',
      Type.Object({
        tracker_connected: Type.Boolean({
          description: 'A tracker of the workspace has stored an event.',
        }),
        dataset_connected: Type.Boolean({
          description: 'An active destination delivers for this ad account.',
        }),
      }),
    ),
  }),
)
export type AgentContext = Static<typeof AgentContext>

/** OpenAPI, Security Requirement. */
const OAUTH_MANAGEMENT: readonly Record<string, readonly string[]>[] = [
  { oauthManagement: ['ad-account.read'] },
]

/**
 * What agents call with a credential that a person approved. Not among the ten operations of the
 * REST contract; the route checks its `credential` itself.
 */
export const getAgentContext = {
  method: 'GET',
  url: '/agent/context',
  config: {
    operationId: 'getAgentContext',
    summary: 'Read what this connection is approved for',
    description:
      'Returns the connection, the ad account and workspace that a person approved it for, and ' +
      'whether signals arrive. Read-only. It accepts only the OAuth management credential, a ' +
      'token for the resource {base_url}/agent, which is valid for nothing else.',
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

/** What a response means for the caller, where the status alone is not enough. */
export const AGENT_RESPONSE_DESCRIPTIONS: Record<
  AgentOperation['config']['operationId'],
  Record<number, string>
> = {
  getAgentContext: {
    200: 'The connection as it is now.',
    401:
      'The token is missing, expired, revoked or of another kind; or the user, the workspace ' +
      'or the ad account is disabled. Stop using it; the WWW-Authenticate header has the URL of ' +
      'the metadata.',
    403: 'The connection lacks the permission ad-account.read.',
  },
}
