import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { agentActionRoutes } from './action-routes.ts'
import type { AgentsContext } from './agents-context.ts'
import { mcpRoutes } from './mcp/routes.ts'
import { actionSessionRoutes } from './session-routes.ts'

/** Every route for agents, and for people who review them. */
export function agentsRoutes(app: ServiceApp, context: AgentsContext): void {
  mcpRoutes(app, context)
  app.register(async api => agentActionRoutes(api, context), { prefix: BASE_PATH })
  actionSessionRoutes(app, context)
  formerPageRoutes(app)
}

/**
 * The addresses that the pages of the dashboard had before, which stored answers, emails and
 * bookmarks have. The dashboard asks for the session and the role.
 */
function formerPageRoutes(app: ServiceApp): void {
  app.register(async pages => {
    for (const [before, now] of Object.entries(FORMER_PAGES)) {
      pages.get(`/workspaces/:workspace${before}`, PUBLIC, async (request, reply) => {
        const { workspace, batch = '' } = Object(request.params) as Record<string, string>
        const path = now
          .replace(':workspace', encodeURIComponent(String(workspace)))
          .replace(':batch', encodeURIComponent(batch))
        const [, query] = request.url.split('?', 2)
        return reply.redirect(query === undefined ? path : `${path}?${query}`, SEE_OTHER)
      })
    }
  })
}

const PUBLIC = { config: { credential: 'none' } } as const
const SEE_OTHER = 303
const FORMER_PAGES = {
  '/approvals': '/w/:workspace/approvals',
  '/approvals/:batch': '/w/:workspace/approvals/:batch',
  '/policy': '/w/:workspace/policy',
  '/audit': '/w/:workspace/audit',
  '/audit/verify': '/w/:workspace/audit',
  '/audit/export': `${SESSION_API_PATH}/workspaces/:workspace/audit/export`,
}
