import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { DecisionSubmission, QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import type { ExecutionMode } from '@signalbox/contract/agents/policy.ts'
import { html } from 'ghtml'
import { Refusal } from '../../http/refusal.ts'
import { readFormText, toFormErrors } from '../../pages/form-body.ts'
import { choiceOption, type FormErrors, textArea } from '../../pages/form-controls.ts'
import { hasPermission } from '../../people/workspace-role.ts'
import type { Membership } from '../../people/workspace-store.ts'
import { parseRowId } from '../../util/row-id.ts'
import { APPROVAL_EFFECTS } from './labels.ts'
import { actionDetails, actionRationale, actionTitle } from './proposal-details.ts'

/** What a person typed into the form that was refused. */
export interface RejectedDecisionForm {
  reason: string
  actionIds: readonly number[]
  errors: FormErrors
}

interface DecisionForm {
  membership: Membership
  batch: QueuedBatch
  mode: ExecutionMode
  waiting: readonly AgentAction[]
  now: Date
  typed?: RejectedDecisionForm
}

/** Which actions, why, and the two buttons. What somebody may not press says why. Returns HTML. */
export function decisionForm(form: DecisionForm): string {
  const { membership, batch, mode, waiting, typed } = form
  const isOpen = hasPermission(membership.role, 'decide_actions')
  const action = `/workspaces/${membership.workspaceId}/approvals/${batch.id}`
  const faults = typed?.errors ?? {}
  const heading = waiting.length === 1 ? 'Decide on it' : 'Decide on these'
  const reason = textArea({ ...REASON_FIELD, value: typed?.reason ?? '', errors: faults })
  return html`<section class="card" aria-labelledby="decide">
<h2 id="decide">${heading}</h2>
<form method="post" action="${action}" class="wide">
<fieldset id="action_ids" tabindex="-1"!${isOpen ? '' : ' disabled'}>
<legend>${waiting.length === 1 ? 'The change' : 'Choose the changes that you decide on'}</legend>
!${waiting.map(waitingAction => actionChoice(waitingAction, form)).join('')}
</fieldset>
!${isOpen ? reason : ''}
!${denialNotice(form)}
<p id="approval-means">${APPROVAL_EFFECTS[mode]}</p>
!${buttons(form, isOpen)}
</form>
</section>`
}

const REASON_FIELD = {
  name: 'reason',
  label: 'Your reason',
  hint: 'It is kept in the record for good and cannot be erased: write nothing about people.',
  charactersMax: 1_000,
} as const

function actionChoice(action: AgentAction, form: DecisionForm): string {
  const { batch, typed, waiting } = form
  const isChosen = typed === undefined || typed.actionIds.includes(action.id)
  const value = String(action.id)
  const content = actionTitle(action)
  const isOnly = waiting.length === 1
  const head = isOnly
    ? html`<p><input type="hidden" name="action_ids" value="${value}">!${content}</p>`
    : choiceOption({ type: 'checkbox', name: 'action_ids', value, isChosen, content })
  return html`<div class="change">!${head}
!${actionRationale(action, batch)}
!${actionDetails(action, batch)}
</div>`
}

function denialNotice({ batch }: DecisionForm): string {
  const { may_decide, may_not_reason } = batch
  if (may_decide) return ''
  const sentence = may_not_reason ?? 'You may not decide on this proposal.'
  return html`<div class="message notice" id="may-not"><p>${sentence}</p></div>`
}

/** Who may not approve may still reject: it is the safe way out. */
function buttons({ batch, now }: DecisionForm, isOpen: boolean): string {
  const isInTime = new Date(batch.expires_at) > now
  const meaning = batch.may_decide ? 'approval-means' : 'may-not'
  const disabled = batch.may_decide && isInTime ? '' : ' disabled'
  const approval = html` aria-describedby="${meaning}"!${disabled}`
  return html`<div class="actions">
<button name="decision" value="approve"!${approval}>Approve</button>
<button name="decision" value="reject" class="quiet"!${isOpen ? '' : ' disabled'}>Reject</button>
</div>`
}

/** What the form of a decision holds, as it was sent. */
interface SubmittedDecision {
  decision: string
  reason: string
  actionIds: readonly number[]
}

/** More than the contract allows, so that what is too long is refused and not cut unseen. */
const REASON_CHARACTERS_MAX = 4_000
const ACTIONS_MAX = 30

export function parseDecisionForm(form: unknown): SubmittedDecision {
  const ids = form instanceof URLSearchParams ? form.getAll('action_ids') : []
  return {
    decision: readFormText(form, 'decision'),
    // Browsers send every line break as two characters (HTML standard, 4.10.22.4).
    reason: readFormText(form, 'reason', REASON_CHARACTERS_MAX).replaceAll('\r\n', '\n'),
    actionIds: ids.slice(0, ACTIONS_MAX).flatMap(id => parseRowId(id) ?? []),
  }
}

/** As `decideActions` takes it, which checks it. No choice is sent as none, never as all. */
export function toDecisionSubmission({
  decision,
  reason,
  actionIds,
}: SubmittedDecision): DecisionSubmission {
  const given = decision as DecisionSubmission['decision']
  return { decision: given, reason, action_ids: [...new Set(actionIds)] }
}

const SHOWN_STATUSES = [403, 409, 422]

/**
 * What is wrong, by the fields of the form; a refusal of the whole stands under the empty name.
 * Throws again what the page of the proposal cannot show.
 */
export function decisionFormErrors(error: unknown): FormErrors {
  if (!(error instanceof Refusal) || !SHOWN_STATUSES.includes(error.status)) throw error
  if (error.status !== 422) return { '': error.message }
  const faults = Object.entries(toFormErrors(error))
  return Object.fromEntries(
    faults.map(([path, sentence]) => {
      const [field = ''] = path.split('.')
      if (field === 'decision') return ['', 'Choose: approve or reject.']
      return [field, ERROR_TEXTS[field]?.(sentence) ?? sentence]
    }),
  )
}

const ERROR_TEXTS: Record<string, (sentence: string) => string> = {
  reason: sentence =>
    /greater than/.test(sentence)
      ? 'The reason is too long: write at most 1000 characters.'
      : 'Say why. The reason is kept with the decision.',
  action_ids: sentence =>
    /^The proposal/.test(sentence) ? sentence : 'Choose at least one change.',
}
