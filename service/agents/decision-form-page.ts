import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import type { ExecutionMode } from '@signalbox/contract/agents/policy.ts'
import { html } from 'ghtml'
import { choice, type FieldFaults, textArea } from '../pages/form-controls.ts'
import type { Membership } from '../people/member-store.ts'
import { mayDo } from '../people/workspace-role.ts'
import { APPROVAL_WORDS } from './policy-words.ts'
import { actionFacts, actionRationale, actionTitle } from './proposal-pages.ts'

/** What a person typed into the form that was refused. */
export interface DecisionTyped {
  reason: string
  actionIds: readonly number[]
  faults: FieldFaults
}

export interface DecisionForm {
  membership: Membership
  batch: QueuedBatch
  mode: ExecutionMode
  waiting: readonly AgentAction[]
  now: Date
  typed?: DecisionTyped
}

/** Which actions, why, and the two buttons. What somebody may not press says why. Returns HTML. */
export function decisionForm(form: DecisionForm): string {
  const { membership, batch, mode, waiting, typed } = form
  const isOpen = mayDo(membership.role, 'decide_actions')
  const action = `/workspaces/${membership.workspaceId}/approvals/${batch.id}`
  const faults = typed?.faults ?? {}
  const heading = waiting.length === 1 ? 'Decide on it' : 'Decide on these'
  const reason = textArea({ ...REASON_FIELD, value: typed?.reason ?? '', faults })
  return html`<section class="card" aria-labelledby="decide">
<h2 id="decide">${heading}</h2>
<form method="post" action="${action}" class="wide">
<fieldset id="action_ids" tabindex="-1"!${isOpen ? '' : ' disabled'}>
<legend>${waiting.length === 1 ? 'The change' : 'Choose the changes that you decide on'}</legend>
!${waiting.map(waitingAction => actionChoice(waitingAction, form)).join('')}
</fieldset>
!${isOpen ? reason : ''}
!${mayNot(form)}
<p id="approval-means">${APPROVAL_WORDS[mode]}</p>
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
    : choice({ type: 'checkbox', name: 'action_ids', value, isChosen, content })
  return html`<div class="change">!${head}
!${actionRationale(action, batch)}
!${actionFacts(action, batch)}
</div>`
}

function mayNot({ batch }: DecisionForm): string {
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
