import type { OauthContext } from './oauth-context.ts'
import { noteUse } from './principal-store.ts'
import type { Audience } from './resources.ts'
import { type AgentPrincipal, verifyAgentToken } from './verify-agent-token.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whom the token speaks for, on routes of agents. */
    agent: AgentPrincipal
  }
}

interface Asking {
  headers: { authorization?: string | undefined }
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
