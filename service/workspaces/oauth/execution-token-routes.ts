import { ExecutionTokenSubmission } from '@signalbox/contract/session/agents.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import { Notices } from '../../runtime/pages/page-links.ts'
import { servePages } from '../../runtime/pages/serve-pages.ts'
import { listAdAccounts } from '../users/ad-account-store.ts'
import { requirePageMembership } from '../users/page-membership.ts'
import {
  readPageNumber,
  readWorkspaceParam,
  requirePageSession,
  type WorkspacePageExchange,
} from '../users/page-visit.ts'
import type { WorkspaceVisit } from './connections.ts'
import {
  issueWorkspaceToken,
  listWorkspaceTokens,
  revokeWorkspaceToken,
} from './execution-tokens.ts'
import { type ExecutionTokensPage, executionTokensPage } from './execution-tokens-page.ts'
import type { OauthContext } from './oauth-context.ts'

/** The page of a workspace's execution tokens. A new token is shown in the response to its form. */
export function executionTokenRoutes(app: ServiceApp, context: OauthContext): void {
  const url = '/workspaces/:workspace/tokens'
  const config = { credential: 'none' } as const
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    pages.get(url, { config }, async (request, reply) => {
      const visit = await requireTokensVisit(context, { request, reply })
      if (!visit) return reply
      const notice = NOTICES.find(request.query)
      const page = readPageNumber(request.query)
      return reply.send(await renderTokens(context, visit, { notice, page }))
    })
    pages.post(url, { config }, async (request, reply) => {
      const visit = await requireTokensVisit(context, { request, reply })
      if (!visit) return reply
      const values = readForm(request.body, ExecutionTokenSubmission)
      const { days, ad_account_id: adAccountId } = values
      const body = { ...values, days: Number(days), ad_account_id: Number(adAccountId) }
      try {
        const issued = await issueWorkspaceToken(context, visit, body)
        return reply.send(await renderTokens(context, visit, { issued: issued.token }))
      } catch (error) {
        const errors = toFormErrors(error)
        return reply.code(422).send(await renderTokens(context, visit, { errors, values }))
      }
    })
    pages.post(`${url}/:token/revoke`, { config }, async (request, reply) => {
      const visit = await requireTokensVisit(context, { request, reply })
      if (!visit) return reply
      const { token: tokenId } = readPathParameters(request.params, 'token')
      await revokeWorkspaceToken(context, { ...visit, tokenId })
      return reply.redirect(NOTICES.addTo(tokensPath(visit), 'revoke'), 303)
    })
  })
}

const NOTICES = new Notices({ revoke: 'Token revoked.' })

/** After signing in, always returns to the list: a form is not sent again. */
function requireTokensVisit(
  context: OauthContext,
  { request, reply }: Omit<WorkspacePageExchange, 'returnTo'>,
) {
  const returnTo = tokensPath({ workspaceId: readWorkspaceParam(request) })
  return requirePageSession(context, { request, reply, returnTo })
}

function tokensPath({ workspaceId }: Pick<WorkspaceVisit, 'workspaceId'>): string {
  return `/workspaces/${encodeURIComponent(String(workspaceId))}/tokens`
}

type PageFeedback = { page?: number } & Partial<
  Pick<ExecutionTokensPage, 'issued' | 'values' | 'errors' | 'notice'>
>

async function renderTokens(
  context: OauthContext,
  visit: WorkspaceVisit,
  { page = 1, ...feedback }: PageFeedback,
) {
  const { database, now } = context
  const membership = await requirePageMembership(database, visit.user, {
    workspaceId: visit.workspaceId,
    action: 'manage_agents',
  })
  const all = await listAdAccounts(database, membership.workspaceId)
  return executionTokensPage({
    user: visit.user,
    membership,
    tokens: await listWorkspaceTokens(context, visit, page),
    adAccounts: all.filter(({ status }) => status === 'active'),
    now: now(),
    ...feedback,
  })
}
