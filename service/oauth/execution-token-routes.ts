import type { ServiceApp } from '../http/service-app.ts'
import { readFormText, toFormErrors } from '../pages/form-body.ts'
import { servePages } from '../pages/serve-pages.ts'
import { listAdAccounts } from '../people/ad-account-store.ts'
import { requireSignIn } from '../people/page-visit.ts'
import { requireRole } from '../people/workspaces.ts'
import type { WorkspaceVisit } from './connections.ts'
import {
  issueWorkspaceToken,
  listWorkspaceTokens,
  revokeWorkspaceToken,
} from './execution-tokens.ts'
import { type ExecutionTokensPage, executionTokensPage } from './execution-tokens-page.ts'
import type { OauthContext } from './oauth-context.ts'

/** The page of a workspace's execution tokens. A new one is shown in the answer to its form. */
export function executionTokenRoutes(app: ServiceApp, context: OauthContext): void {
  const url = '/workspaces/:workspace/tokens'
  const config = { credential: 'none' } as const
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    pages.get(url, { config }, async (request, reply) => {
      const visit = await findVisit(context, { request, reply })
      if (!visit) return reply
      const { done } = request.query as { done?: unknown }
      const notice = done === 'revoke' ? REVOKED : undefined
      return reply.send(await renderTokens(context, visit, { notice }))
    })
    pages.post(url, { config }, async (request, reply) => {
      const visit = await findVisit(context, { request, reply })
      if (!visit) return reply
      const values = Object.fromEntries(
        FIELDS.map(name => [name, readFormText(request.body, name)]),
      )
      const { name, tier, days, ad_account_id: adAccountId } = values
      const wish = { name, tier, days: Number(days), adAccountId: Number(adAccountId) }
      try {
        const made = await issueWorkspaceToken(context, visit, wish)
        return reply.send(await renderTokens(context, visit, { issued: made.token }))
      } catch (error) {
        const faults = toFormErrors(error)
        return reply.code(422).send(await renderTokens(context, visit, { faults, values }))
      }
    })
    pages.post(`${url}/:token/revoke`, { config }, async (request, reply) => {
      const visit = await findVisit(context, { request, reply })
      if (!visit) return reply
      const { token: tokenId } = request.params as { token: string }
      await revokeWorkspaceToken(context, { ...visit, tokenId })
      return reply.redirect(`${tokensPath(visit)}?done=revoke`, 303)
    })
  })
}

const FIELDS = ['name', 'tier', 'days', 'ad_account_id']
const REVOKED = 'The token is revoked: it opens nothing from now on.'

type PageVisit = Omit<Parameters<typeof requireSignIn>[1], 'returnTo'> & {
  request: { params: unknown }
}

async function findVisit(
  context: OauthContext,
  { request, reply }: PageVisit,
): Promise<WorkspaceVisit | null> {
  const { workspace: workspaceId } = request.params as { workspace: string }
  const person = await requireSignIn(context, {
    request,
    reply,
    returnTo: tokensPath({ workspaceId }),
  })
  return person && { person, workspaceId }
}

function tokensPath({ workspaceId }: Pick<WorkspaceVisit, 'workspaceId'>): string {
  return `/workspaces/${encodeURIComponent(String(workspaceId))}/tokens`
}

type PageFeedback = Partial<Pick<ExecutionTokensPage, 'issued' | 'values' | 'faults' | 'notice'>>

async function renderTokens(
  { database, now }: OauthContext,
  visit: WorkspaceVisit,
  said: PageFeedback,
) {
  const { person, workspaceId } = visit
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  const all = await listAdAccounts(database, membership.workspaceId)
  return executionTokensPage({
    person,
    membership,
    tokens: await listWorkspaceTokens(database, visit),
    adAccounts: all.filter(({ status }) => status === 'active'),
    now: now(),
    ...said,
  })
}
