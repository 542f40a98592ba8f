import { Refusal } from '../http/refusal.ts'
import type { OauthContext } from './oauth-context.ts'
import { noteUse } from './principal-store.ts'
import type { Audience } from './resources.ts'
import {
  type AgentPrincipal,
  verifyAgentToken,
  verifyExecutionToken,
} from './verify-agent-token.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whom the token speaks for, on routes of agents. */
    agent: AgentPrincipal
  }
}

interface Asking {
  headers: { authorization?: string | undefined; origin?: string | undefined }
  agent: AgentPrincipal
}

type GuardContext = Pick<OauthContext, 'database' | 'now' | 'publicOrigin' | 'onTouchError'>

/**
 * The hook that asks for an agent's token, before a body is read, and notes that it was used.
 * Nobody waits for the note.
 */
export function agentGuard(context: GuardContext, audience: Audience) {
  const { database, now, publicOrigin, onTouchError } = context
  return async (request: Asking) => {
    const { authorization } = request.headers
    const at = now()
    const place = { audience, origin: publicOrigin(), now: at }
    request.agent = await verifyAgentToken(database, { authorization, ...place })
    noteUse(database, request.agent, at).catch(onTouchError)
  }
}

/** The same where execution tokens alone are let in, which programs hold and pages never. */
export function executionTokenGuard(context: Omit<GuardContext, 'publicOrigin'>) {
  const { database, now, onTouchError } = context
  return async (request: Asking) => {
    const { authorization, origin } = request.headers
    const at = now()
    request.agent = await verifyExecutionToken(database, { authorization, now: at })
    if (origin !== undefined) throw new Refusal(403, TOKEN_IN_BROWSER)
    noteUse(database, request.agent, at).catch(onTouchError)
  }
}

const TOKEN_IN_BROWSER =
  'This execution token came from a browser (Origin header), where anybody can read it: revoke ' +
  'it, and ask from your server.'
