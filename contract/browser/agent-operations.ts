import Type from 'typebox'
import { MessageError, ValidationError } from '../errors.ts'
import {
  ConnectionChange,
  ConnectionList,
  ExecutionTokenList,
  ExecutionTokenSubmission,
  IssuedExecutionToken,
} from './agents.ts'

/** 401: not signed in. 403: the request comes from another site, or the role does not allow it. */
const REFUSALS = { 401: MessageError, 403: MessageError, 404: MessageError } as const
const Nothing = Type.Unsafe<undefined>({})

/**
 * What owners do with the agents of a workspace in the dashboard, in the shape of Fastify routes
 * below BROWSER_PATH. The session cookie is the credential.
 */
export const listConnections = {
  method: 'GET',
  url: '/workspaces/:workspace/connections',
  config: { operationId: 'listConnections', credential: 'session' },
  schema: { response: { 200: ConnectionList, ...REFUSALS } },
} as const

export const updateConnection = {
  method: 'PATCH',
  url: '/workspaces/:workspace/connections/:connection',
  config: { operationId: 'updateConnection', credential: 'session' },
  schema: {
    body: ConnectionChange,
    response: { 204: Nothing, ...REFUSALS, 422: ValidationError },
  },
} as const

export const revokeConnection = {
  method: 'DELETE',
  url: '/workspaces/:workspace/connections/:connection',
  config: { operationId: 'revokeConnection', credential: 'session' },
  schema: { response: { 204: Nothing, ...REFUSALS } },
} as const

export const listExecutionTokens = {
  method: 'GET',
  url: '/workspaces/:workspace/execution-tokens',
  config: { operationId: 'listExecutionTokens', credential: 'session' },
  schema: { response: { 200: ExecutionTokenList, ...REFUSALS } },
} as const

export const createExecutionToken = {
  method: 'POST',
  url: '/workspaces/:workspace/execution-tokens',
  config: { operationId: 'createExecutionToken', credential: 'session' },
  schema: {
    body: ExecutionTokenSubmission,
    response: { 201: IssuedExecutionToken, ...REFUSALS, 422: ValidationError },
  },
} as const

export const revokeExecutionToken = {
  method: 'DELETE',
  url: '/workspaces/:workspace/execution-tokens/:token',
  config: { operationId: 'revokeExecutionToken', credential: 'session' },
  schema: { response: { 204: Nothing, ...REFUSALS } },
} as const

export const BROWSER_AGENT_OPERATIONS = [
  listConnections,
  updateConnection,
  revokeConnection,
  listExecutionTokens,
  createExecutionToken,
  revokeExecutionToken,
] as const
