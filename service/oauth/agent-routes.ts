import { getAgentContext } from '@signalbox/contract/agent-operations.ts'
import { limitAddresses } from '../access/limit-addresses.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { agentContext } from './agent-context.ts'
import { agentGuard } from './agent-guard.ts'
import type { OauthContext } from './oauth-context.ts'
import { requirePermission } from './verify-agent-token.ts'

/** What the OAuth management credential opens. It opens nothing else, and nothing else opens it. */
export function agentRoutes(app: ServiceApp, context: OauthContext): void {
  if (context.limits.oauth) limitAddresses(app, context.limits.oauth)
  app.route({
    ...getAgentContext,
    onRequest: agentGuard(context, 'agent'),
    async handler({ agent }, reply) {
      requirePermission(agent, 'ad-account.read')
      return reply.code(200).send(await agentContext(context.database, agent))
    },
  })
}
