import Type from 'typebox'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { formText, readForm } from '../../runtime/pages/form-body.ts'
import { Notices } from '../../runtime/pages/navigation.ts'
import { listAdAccounts } from '../../workspaces/users/ad-account-store.ts'
import { requirePageSession, type WorkspacePageRequest } from '../../workspaces/users/page-visit.ts'
import { requirePageMembership } from '../../workspaces/users/workspace-pages.ts'
import type { AgentsContext } from '../agents-context.ts'
import { changePolicy } from '../policy/change-policy.ts'
import {
  cancelPendingPolicy,
  confirmPendingPolicy,
  readPolicyView,
} from '../policy/pending-policy.ts'
import { isConflict, parsePolicyForm, policyFormErrors, toPolicySubmission } from './policy-form.ts'
import { type PolicyPage, policyPage } from './policy-page.ts'

const PAGE = { config: { credential: 'none' } } as const
const UNPROCESSABLE = 422
const CONFLICT = 409
const NOTICES = new Notices({
  saved: 'The policy is saved. It applies immediately, including to pending proposals.',
  waiting:
    'The policy is saved. What permits less applies now; what permits more waits, and all owners ' +
    'are told.',
  confirmed: 'The policy is valid now, including for pending proposals.',
  canceled: 'The waiting policy is canceled.',
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
      const { pending } = await changePolicy(context, visit, toPolicySubmission(submitted))
      const notice = pending === null ? 'saved' : 'waiting'
      return reply.redirect(NOTICES.addTo(`/workspaces/${visit.workspaceId}/policy`, notice), 303)
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
  waitingPolicyRoutes(pages, context, url)
}

const REFERENCE_FORM = Type.Object({ version: formText() })

function waitingPolicyRoutes(pages: ServiceApp, context: AgentsContext, url: string): void {
  const on = (
    path: 'confirm' | 'cancel',
    notice: 'confirmed' | 'canceled',
    end: typeof confirmPendingPolicy,
  ) =>
    pages.post(`${url}/${path}`, PAGE, async (request, reply) => {
      const visit = await requirePageSession(context, { request, reply })
      if (!visit) return reply
      const { version } = readForm(request.body, REFERENCE_FORM)
      const isNumber = /^\d{1,9}$/.test(version)
      await end(context, visit, { version: isNumber ? Number(version) : version })
      return reply.redirect(NOTICES.addTo(`/workspaces/${visit.workspaceId}/policy`, notice), 303)
    })
  on('confirm', 'confirmed', confirmPendingPolicy)
  on('cancel', 'canceled', cancelPendingPolicy)
}

type PolicyPageState = Partial<Pick<PolicyPage, 'submitted' | 'errors' | 'isConflict' | 'notice'>>

async function renderPolicy(
  context: AgentsContext,
  visit: WorkspacePageRequest,
  state: PolicyPageState,
): Promise<string> {
  const { user, workspaceId } = visit
  const { database, settings } = context
  const membership = await requirePageMembership(database, user, { workspaceId })
  const policy = await loadPolicy(context, { ...membership, userId: user.userId })
  const { policyWaitHours: waitHours } = settings
  return policyPage({ user, membership, waitHours, ...policy, ...state })
}

/** Loads the policy and the currencies of active ad accounts, which format its limits. */
export async function loadPolicy(
  context: AgentsContext,
  reader: { workspaceId: number; userId: number },
): Promise<Pick<PolicyPage, 'state' | 'currencies'>> {
  const accounts = await listAdAccounts(context.database, reader.workspaceId)
  const active = accounts.filter(({ status }) => status === 'active')
  const currencies = [...new Set(active.map(({ currency }) => currency))]
  return { state: await readPolicyView(context, reader), currencies }
}
