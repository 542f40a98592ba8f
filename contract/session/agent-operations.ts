import {
  ConnectionChange,
  ConnectionList,
  ExecutionTokenList,
  ExecutionTokenSubmission,
  IssuedExecutionToken,
} from './agents.ts'
import {
  ALL_REFUSALS,
  FOUND_REFUSALS,
  Nothing,
  PageQuery,
  query,
  write,
} from './session-operation.ts'

/**
 * What owners do with the agents of a workspace in the dashboard, in the shape of Fastify routes
 * below SESSION_API_PATH. The session cookie is the credential.
 */
export const listConnections = query('listConnections', '/workspaces/:workspace/connections', {
  querystring: PageQuery,
  response: {
    200: ConnectionList,
    ...FOUND_REFUSALS,
  },
})

export const updateConnection = write(
  'updateConnection',
  'PATCH /workspaces/:workspace/connections/:connection',
  { body: ConnectionChange, response: { 204: Nothing, ...ALL_REFUSALS } },
)

export const revokeConnection = write(
  'revokeConnection',
  'DELETE /workspaces/:workspace/connections/:connection',
  { response: { 204: Nothing, ...FOUND_REFUSALS } },
)

export const listExecutionTokens = query(
  'listExecutionTokens',
  '/workspaces/:workspace/execution-tokens',
  {
    querystring: PageQuery,
    response: { 200: ExecutionTokenList, ...FOUND_REFUSALS },
  },
)

export const createExecutionToken = write(
  'createExecutionToken',
  'POST /workspaces/:workspace/execution-tokens',
  { body: ExecutionTokenSubmission, response: { 201: IssuedExecutionToken, ...ALL_REFUSALS } },
)

export const revokeExecutionToken = write(
  'revokeExecutionToken',
  'DELETE /workspaces/:workspace/execution-tokens/:token',
  { response: { 204: Nothing, ...FOUND_REFUSALS } },
)

export const BROWSER_AGENT_OPERATIONS = [
  listConnections,
  updateConnection,
  revokeConnection,
  listExecutionTokens,
  createExecutionToken,
  revokeExecutionToken,
] as const
