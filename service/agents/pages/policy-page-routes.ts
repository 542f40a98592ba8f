import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { Notices } from '../../runtime/pages/navigation.ts'
import { listAdAccounts } from '../../workspaces/users/ad-account-store.ts'
import { requirePageSession, type WorkspacePageRequest } from '../../workspaces/users/page-visit.ts'
import { requirePageMembership } from '../../workspaces/users/workspace-pages.ts'
import type { AgentsContext } from '../agents-context.ts'
import { changePolicy } from '../policy/change-policy.ts'
import { readPolicy } from '../policy/policy-store.ts'
import { isConflict, parsePolicyForm, policyFormErrors, toPolicySubmission } from './policy-form.ts'
import { type PolicyPage, policyPage } from './policy-page.ts'

const PAGE = { config: { credential: 'none' } } as const
const UNPROCESSABLE = 422
const CONFLICT = 409
const NOTICES = new Notices({
  saved: 'The policy is saved. It applies immediately, including to pending proposals.',
})

/** The policy page of a workspace: members read the policy, owners change it. */
export function policyPageRoutes(pages: ServiceApp, context: AgentsContext): void {
  const url = '/workspaces/:workspace/policy'
  pages.get(url, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const notice = NOTICES.find(request.query)
    return reply.send(await renderPolicy(context, visit, { notice }))
  })
  pages.post(url, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const submitted = parsePolicyForm(request.body)
    try {
      await changePolicy(context, visit, toPolicySubmission(submitted))
      return reply.redirect(NOTICES.addTo(`/workspaces/${visit.workspaceId}/policy`, 'saved'), 303)
    } catch (error) {
      if (isConflict(error)) {
        return reply
          .code(CONFLICT)
          .send(await renderPolicy(context, visit, { submitted, isConflict: true }))
      }
      const errors = policyFormErrors(error, submitted)
      return reply
        .code(UNPROCESSABLE)
        .send(await renderPolicy(context, visit, { submitted, errors }))
    }
  })
}

type PolicyPageState = Partial<Pick<PolicyPage, 'submitted' | 'errors' | 'isConflict' | 'notice'>>

async function renderPolicy(
  context: AgentsContext,
  visit: WorkspacePageRequest,
  state: PolicyPageState,
): Promise<string> {
  const { membership, currencies } = await loadPolicyFrame(context, visit)
  const policy = await readPolicy(context.database, membership.workspaceId)
  return policyPage({ user: visit.user, membership, policy, currencies, ...state })
}

/** Loads the membership and the currencies of active ad accounts, which format the limits. */
async function loadPolicyFrame(
  { database }: AgentsContext,
  { user, workspaceId }: WorkspacePageRequest,
) {
  const membership = await requirePageMembership(database, user, { workspaceId })
  const accounts = await listAdAccounts(database, membership.workspaceId)
  const active = accounts.filter(({ status }) => status === 'active')
  return { membership, currencies: [...new Set(active.map(({ currency }) => currency))] }
}
