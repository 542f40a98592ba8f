import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { PUBLIC, seeOther } from './page-visit.ts'

/** The addresses below /workspaces/:workspace that answers, emails and bookmarks have. */
export function movedPageRoutes(app: ServiceApp): void {
  for (const [before, { to, keepsQuery = false }] of Object.entries(MOVED_PAGES)) {
    app.get(`/workspaces/:workspace${before}`, PUBLIC, async (request, reply) => {
      const path = to.replaceAll(/:(\w+)/g, (_, name) =>
        encodeURIComponent(readPathParameters(request.params, name)[name] ?? ''),
      )
      const [, query] = request.url.split('?', 2)
      return seeOther(reply, keepsQuery && query !== undefined ? `${path}?${query}` : path)
    })
  }
}

interface MovedPage {
  to: string
  /** Its query means the same there. */
  keepsQuery?: boolean
}

const MOVED_PAGES: Record<string, MovedPage> = {
  '': { to: '/w/:workspace' },
  '/ad-accounts': { to: '/w/:workspace/ad-accounts' },
  '/people': { to: '/w/:workspace/people' },
  '/connections': { to: '/w/:workspace/agents' },
  '/tokens': { to: '/w/:workspace/tokens' },
  '/notifications': { to: '/w/:workspace/notifications' },
  '/approvals': { to: '/w/:workspace/approvals', keepsQuery: true },
  '/approvals/:batch': { to: '/w/:workspace/approvals/:batch', keepsQuery: true },
  '/policy': { to: '/w/:workspace/policy', keepsQuery: true },
  '/audit': { to: '/w/:workspace/audit', keepsQuery: true },
  '/audit/verify': { to: '/w/:workspace/audit', keepsQuery: true },
  '/audit/export': {
    to: `${SESSION_API_PATH}/workspaces/:workspace/audit/export`,
    keepsQuery: true,
  },
}
