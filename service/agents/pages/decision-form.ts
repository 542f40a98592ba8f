import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type {
  DecisionSubmission,
  QueuedBatch,
  QueuedBatchAnswer,
} from '@signalbox/contract/agents/approvals.ts'
import {
  type ActionPolicy,
  LIMIT_CODES,
  type LimitCode,
} from '@signalbox/contract/agents/policy.ts'
import { hasPermission } from '@signalbox/contract/session/roles.ts'
import { html } from 'ghtml'
import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import { formChoices, formText, readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import { choiceOption, type FormErrors, textArea } from '../../runtime/pages/form-controls.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import type { Membership } from '../../workspaces/users/workspace-store.ts'
import {
  acceptedLimitFields,
  dayTotals,
  pendingNotices,
  recentChanges,
} from './approval-context.ts'
import { APPROVAL_EFFECTS } from './page-text.ts'
import { actionDetails, actionRationale, actionTitle } from './proposal-details.ts'

/** A submitted form that was rejected. */
export interface RejectedDecisionForm {
  reason: string
  actionIds: readonly number[]
  errors: FormErrors
}

interface DecisionForm {
  membership: Membership
  batch: QueuedBatch
  policy: ActionPolicy
  recentChanges: QueuedBatchAnswer['recent_changes']
  pending: readonly AgentAction[]
  now: Date
  rejectedForm?: RejectedDecisionForm | undefined
}

/** Actions to choose, the reason, and the buttons; explains disabled ones. Returns HTML. */
export function decisionForm(form: DecisionForm): string {
  const { membership, batch, policy, pending, rejectedForm } = form
  const isOpen = hasPermission(membership.role, 'decide_actions')
  const url = `/workspaces/${membership.workspaceId}/approvals/${batch.id}`
  const errors = rejectedForm?.errors ?? {}
  const heading = pending.length === 1 ? 'Decide on this change' : 'Decide on these changes'
  const reason = textArea({ ...REASON_FIELD, value: rejectedForm?.reason ?? '', errors })
  return html`<section class="card" aria-labelledby="decide">
<h2 id="decide">${heading}</h2>
<form method="post" action="${url}" class="wide" id="decision">
!${acceptedLimitFields(batch)}
<fieldset id="action_ids" tabindex="-1"!${isOpen ? '' : ' disabled'}>
<legend>${choiceLegend(form)}</legend>
!${batch.all_or_nothing ? ALL_OR_NOTHING : ''}
!${pending.map(action => actionChoice(action, form)).join('')}
</fieldset>
!${dayTotals(batch, policy)}
!${recentChanges(form.recentChanges)}
!${isOpen ? reason : ''}
!${denialNotice(form)}
<p id="approval-means">${APPROVAL_EFFECTS[policy.execution_mode]}</p>
</form>
</section>`
}

function choiceLegend({ batch, pending }: DecisionForm): string {
  if (pending.length === 1) return 'The change'
  return batch.all_or_nothing ? 'The changes' : 'Choose the changes to decide on'
}

const ALL_OR_NOTHING = html`<div class="message notice"><p>All or nothing: your decision covers all
changes. Those that spend less are executed first. If one cannot be executed, those already executed
are set back, and the others are not executed.</p></div>`

const REASON_FIELD = {
  name: 'reason',
  label: 'Your reason',
  hint: 'The reason is stored permanently and cannot be erased: do not write about people.',
  charactersMax: 1_000,
} as const

function actionChoice(action: AgentAction, form: DecisionForm): string {
  const { batch, rejectedForm, pending, membership } = form
  const base = `/workspaces/${membership.workspaceId}/approvals`
  const isChosen = rejectedForm === undefined || rejectedForm.actionIds.includes(action.id)
  const value = String(action.id)
  const content = actionTitle(action)
  const isOnly = pending.length === 1 || batch.all_or_nothing
  const head = isOnly
    ? html`<p><input type="hidden" name="action_ids" value="${value}">!${content}</p>`
    : choiceOption({ type: 'checkbox', name: 'action_ids', value, isChosen, content })
  return html`<div class="change" data-shortcut-item>!${head}
!${actionRationale(action, batch)}
!${actionDetails(action, batch)}
!${pendingNotices(action, batch, base)}
</div>`
}

function denialNotice({ batch }: DecisionForm): string {
  const { may_decide, may_not_reason } = batch
  if (may_decide) return ''
  const reason = may_not_reason ?? 'You cannot decide on this proposal.'
  return html`<div class="message notice" id="may-not"><p>${reason}</p></div>`
}

/**
 * The buttons of the form. The bar is the last part of the page, so that it stays at the bottom of
 * a phone from the first line on. A user who may not approve may still reject, which is always
 * safe. Returns HTML.
 */
export function decisionBar({ membership, batch, now }: DecisionForm): string {
  const isOpen = hasPermission(membership.role, 'decide_actions')
  const isInTime = new Date(batch.expires_at) > now
  const meaning = batch.may_decide ? 'approval-means' : 'may-not'
  const disabled = batch.may_decide && isInTime ? '' : ' disabled'
  const approval = html` aria-describedby="${meaning}"!${disabled}`
  const rejection = isOpen ? '' : ' disabled'
  return html`<div class="actions decision" role="group" aria-label="Decision">
<button form="decision" name="decision" value="approve"!${approval}>Approve</button>
<button form="decision" name="decision" value="reject" class="quiet"!${rejection}>Reject</button>
</div>`
}

/** The decision form as submitted. */
interface SubmittedDecision {
  decision: string
  reason: string
  actionIds: readonly number[]
  acceptedLimits: readonly LimitCode[]
}

/** More than the contract allows, so that a long reason is rejected and not truncated. */
const REASON_CHARACTERS_MAX = 4_000
const ACTIONS_MAX = 30

const DECISION_FORM = Type.Object({
  decision: formText(),
  reason: formText(REASON_CHARACTERS_MAX),
  action_ids: formChoices(),
  accepted_limits: formChoices(),
})

export function parseDecisionForm(body: unknown): SubmittedDecision {
  const {
    decision,
    reason,
    action_ids: ids,
    accepted_limits: limits,
  } = readForm(body, DECISION_FORM)
  return {
    decision,
    // Browsers send every line break as two characters (HTML standard, 4.10.22.4).
    reason: reason.replaceAll('\r\n', '\n'),
    actionIds: ids.slice(0, ACTIONS_MAX).flatMap(id => parseRowId(id) ?? []),
    acceptedLimits: LIMIT_CODES.filter(limit => limits.includes(limit)),
  }
}

/** The body for `decideActions`, which validates it. An empty choice never means all actions. */
export function toDecisionBody({
  decision,
  reason,
  actionIds,
  acceptedLimits,
}: SubmittedDecision): Record<keyof DecisionSubmission, unknown> {
  return {
    decision,
    reason,
    action_ids: [...new Set(actionIds)],
    accepted_limits: acceptedLimits,
  }
}

const SHOWN_STATUSES = [403, 409, 422]

/**
 * Errors by form field; an error of the whole form has the empty name. Rethrows errors that the
 * page cannot show.
 */
export function decisionFormErrors(error: unknown): FormErrors {
  if (!(error instanceof Refusal) || !SHOWN_STATUSES.includes(error.status)) throw error
  if (error.status !== 422) return { '': error.message }
  const errors = Object.entries(toFormErrors(error))
  return Object.fromEntries(
    errors.map(([path, message]) => {
      const [field = ''] = path.split('.')
      if (field === 'decision') return ['', 'Choose: approve or reject.']
      return [field, ERROR_TEXTS[field]?.(message) ?? message]
    }),
  )
}

const ERROR_TEXTS: Record<string, (message: string) => string> = {
  reason: message =>
    /greater than/.test(message)
      ? 'The reason is too long: write at most 1000 characters.'
      : 'Enter a reason. It is stored with the decision.',
  action_ids: message => (/^The proposal/.test(message) ? message : 'Choose at least one change.'),
}
