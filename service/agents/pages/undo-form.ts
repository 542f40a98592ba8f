import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch, UndoSubmission } from '@signalbox/contract/agents/approvals.ts'
import { hasPermission } from '@signalbox/contract/session/roles.ts'
import { html } from 'ghtml'
import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import { formText, readForm } from '../../runtime/pages/form-body.ts'
import { textArea } from '../../runtime/pages/form-controls.ts'
import type { Membership } from '../../workspaces/users/workspace-store.ts'
import type { DecisionRecord } from '../approvals/approval-queue.ts'
import { defaultUndoReason } from '../approvals/undo-action.ts'

interface UndoPart {
  membership: Membership
  batch: QueuedBatch
  /** By action ID. */
  decisionRecords: ReadonlyMap<number, Pick<DecisionRecord, 'undoneBy'>>
}

/** The form that proposes to undo a verified action, or a link to that proposal. Returns HTML. */
export function undoPart(
  action: AgentAction,
  { membership, batch, decisionRecords }: UndoPart,
): string {
  const { id, status } = action
  const base = `/workspaces/${membership.workspaceId}/approvals`
  const undoneBy = decisionRecords.get(id)?.undoneBy ?? null
  if (status !== 'verified') return ''
  if (undoneBy !== null) {
    return html`<p><a href="${base}/${undoneBy}">Proposal ${undoneBy} undoes this change</a></p>`
  }
  if (!hasPermission(membership.role, 'decide_actions')) return ''
  const value = defaultUndoReason({ id, batchId: batch.id })
  // An ID of its own: the page can have several of these forms.
  const name = reasonField(String(id))
  const field = {
    name,
    label: 'Reason',
    hint: REASON_HINT,
    charactersMax: 1_000,
    value,
    errors: {},
  }
  return html`<form method="post" action="${base}/${batch.id}/undo" class="wide">
<input type="hidden" name="action_id" value="${id}">
<details><summary>Reason for an undo</summary>!${textArea(field)}</details>
<div class="actions"><button class="quiet">Propose to undo</button></div>
</form>`
}

function reasonField(actionId: string): string {
  return `undo_reason_${actionId}`
}

const REASON_HINT =
  'The reason is stored permanently and cannot be erased: do not write about people.'

/** What a proposal of a user undoes. Returns HTML. */
export function undoneAction({ undoes }: QueuedBatch, base: string): string {
  if (undoes === null) return ''
  return html`<p>It undoes <a href="${base}/audit?subject_type=action&subject_id=${undoes}">action
${undoes}</a>.</p>`
}

export function undoErrorMessage(error: string | undefined): string {
  if (error === undefined) return ''
  return html`<div class="message danger" role="alert" tabindex="-1" autofocus>
<h2>The undo was not proposed</h2><p>${error}</p></div>`
}

/** More than the contract allows, so that a long reason is rejected and not truncated. */
const REASON_CHARACTERS_MAX = 4_000

const UNDO_FORM = Type.Object({ action_id: formText() })

export function parseUndoForm(form: unknown): { actionId: string; body: UndoSubmission } {
  const { action_id: actionId } = readForm(form, UNDO_FORM)
  const name = reasonField(actionId)
  const { [name]: text = '' } = readForm(
    form,
    Type.Object({ [name]: formText(REASON_CHARACTERS_MAX) }),
  )
  const reason = text.replaceAll('\r\n', '\n')
  return { actionId, body: reason === '' ? {} : { reason } }
}

/** Rethrows errors that the page cannot show. */
export function toUndoError(error: unknown): string {
  const isShown = error instanceof Refusal && [403, 409, 422].includes(error.status)
  if (!isShown) throw error
  return error.message
}
