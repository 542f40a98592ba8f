import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch, QueuedBatchAnswer } from '@signalbox/contract/agents/approvals.ts'
import type { EvidenceProvenance } from '@signalbox/contract/agents/evidence.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import { html } from 'ghtml'
import { errorSummary, type FormErrors, message } from '../../runtime/pages/form-controls.ts'
import { SHORTCUT_SCRIPT_PATH, shortcutHint } from '../../runtime/pages/layout.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import type { PageMembership } from '../../workspaces/users/workspace-pages.ts'
import { workspacePage } from '../../workspaces/users/workspace-pages.ts'
import type { DecisionRecord } from '../approvals/approval-queue.ts'
import { resultText, statusTag } from './approvals-page.ts'
import { decisionBar, decisionForm, type RejectedDecisionForm } from './decision-form.ts'
import { escapeInvisibleLine, untrustedName, untrustedText } from './page-text.ts'
import { actionDetails, actionRationale, actionTitle, proposalSummary } from './proposal-details.ts'
import { undoErrorMessage, undoneAction, undoPart } from './undo-form.ts'

export interface BatchPage {
  user: CurrentUser
  membership: PageMembership
  batch: QueuedBatch
  policy: ActionPolicy
  recentChanges: QueuedBatchAnswer['recent_changes']
  /** By action ID. */
  decisionRecords: ReadonlyMap<number, DecisionRecord>
  now: Date
  /** The submitted form, if it was rejected. */
  rejectedForm?: RejectedDecisionForm | undefined
  notice?: string | undefined
  /** Why the undo of an action was not proposed. */
  undoError?: string | undefined
}

/** One proposal: its changes, the decision form, and the results. */
export function batchPage(page: BatchPage): string {
  const { user, membership, batch, now, notice, rejectedForm } = page
  const pending = batch.actions.filter(({ status }) => status === 'pending')
  const decided = batch.actions.filter(({ status }) => status !== 'pending')
  const base = `/workspaces/${membership.workspaceId}`
  const results = decided.length === 0 ? '' : resultsCard(decided, page)
  const isResultFirst = pending.length === 0 || notice !== undefined
  const content = html`<p><a href="${base}/approvals">All pending approvals</a></p>
!${rejectionMessage(rejectedForm?.errors ?? {})}
!${undoErrorMessage(page.undoError)}
!${nothingPending(page, pending.length)}
!${isResultFirst ? results : ''}
<section class="card" aria-labelledby="proposal">
<h2 id="proposal">Rationale of the ${batch.undoes === null ? 'agent' : 'person'}</h2>
!${untrustedText(batch.rationale)}
!${proposalSummary(batch, now)}
!${undoneAction(batch, base)}
!${batch.undoes === null ? evidenceDetails(batch) : ''}
</section>
!${pending.length === 0 ? '' : decisionForm({ ...page, pending })}
!${isResultFirst ? '' : results}
!${pending.length === 0 ? '' : decisionBar({ ...page, pending })}
!${pending.length === 0 ? '' : shortcutHint('proposal')}`
  return workspacePage({
    user,
    membership,
    notice,
    content,
    tab: 'approvals',
    title: `Proposal ${batch.id}`,
    script: SHORTCUT_SCRIPT_PATH,
  })
}

/** Field errors are links to their fields; an error of the whole form has no field. */
function rejectionMessage(errors: FormErrors): string {
  const { '': formError } = errors
  if (formError === undefined) return errorSummary(errors)
  return html`<div class="message danger" role="alert" tabindex="-1" autofocus>
<h2>Your decision was not saved</h2><p>${formError}</p></div>`
}

/** Another user decided while this page was open. */
function nothingPending({ rejectedForm }: BatchPage, pendingCount: number): string {
  if (!rejectedForm || pendingCount > 0) return ''
  const { reason } = rejectedForm
  return html`!${message('notice', 'This proposal has no pending actions. The results are below.')}
!${reason === '' ? '' : html`<p>Your reason:</p>!${untrustedText(reason)}`}`
}

function resultsCard(actions: readonly AgentAction[], page: BatchPage): string {
  const parts = actions.map((action, position) => resultPart(action, page, position === 0))
  return html`<section class="card" aria-labelledby="results">
<h2 id="results">Results</h2>
!${parts.join('')}
</section>`
}

function resultPart(action: AgentAction, page: BatchPage, isFirst: boolean): string {
  const { batch, membership, decisionRecords } = page
  const { id, status } = action
  const log = `/workspaces/${membership.workspaceId}/audit?subject_type=action&subject_id=${id}`
  return html`<div!${isFirst ? '' : ' class="part"'}>
<h3>!${actionTitle(action)}</h3>
<p>!${statusTag(status)} ${resultText(action)}</p>
!${actionRationale(action, batch)}
!${actionDetails(action, batch)}
!${decisionDetails(action, decisionRecords.get(id)?.decidedBy ?? null)}
!${receiptDetails(decisionRecords.get(id)?.receipt ?? null)}
!${undoPart(action, page)}
<p><a href="${log}">Action ${id} in the log</a></p>
</div>`
}

function decisionDetails({ decided_at, decision_reason }: AgentAction, by: string | null): string {
  if (decided_at === null) return ''
  const who = by === null ? '' : html` by !${untrustedName(by)}`
  const when = formatDateTime(new Date(decided_at))
  return html`<p class="hint">Decided ${when}!${who}. Reason:</p>
!${untrustedText(decision_reason ?? '')}`
}

function receiptDetails(receipt: DecisionRecord['receipt']): string {
  if (!receipt) return ''
  const { document_sha256, chain_entry } = receipt
  return html`<details><summary>Receipt: log entry ${chain_entry.sequence}</summary>
<dl>
<dt>SHA-256 of the receipt</dt><dd><code>${document_sha256}</code></dd>
<dt>SHA-256 of the log entry</dt><dd><code>${chain_entry.hash}</code></dd>
</dl></details>`
}

type EvidenceRecord = EvidenceProvenance['evidence'][number]

/**
 * The evidence that the agent cites, with the values of the tools' answers. Warns if the agent
 * chose the entities, never used a source, or cites a field that no answer has. Returns HTML.
 */
function evidenceDetails({ evidence_provenance }: QueuedBatch): string {
  const { target_source, evidence } = evidence_provenance
  const hasUnusedSource = evidence.some(({ tool_used_at }) => tool_used_at === null)
  const hasUnknownField = evidence.some(({ fields }) => fields.some(isUnknown))
  return html`!${target_source === 'agent_selected' ? AGENT_SELECTED : ''}
!${hasUnusedSource ? UNUSED_SOURCE : ''}
!${hasUnknownField ? UNKNOWN_FIELD : ''}
<details><summary>Evidence of the agent</summary>
<p>!${target_source === 'human_supplied' ? HUMAN_SUPPLIED : ''}The agent cites these sources:</p>
<ul>!${evidence.map(evidenceItem).join('')}</ul></details>`
}

const HUMAN_SUPPLIED = 'The agent claims that a person named the entities to change. '
const AGENT_SELECTED = html`<div class="message notice"><p>The agent chose the entities to change
by itself: no person named them.</p></div>`
const UNUSED_SOURCE = html`<div class="message notice"><p>The agent cites a source
that it never used: do not rely on its figures.</p></div>`
const UNKNOWN_FIELD = html`<div class="message notice"><p>The agent cites a field that is in none of
the recent answers of its source: do not rely on it.</p></div>`

function isUnknown({ is_found }: EvidenceRecord['fields'][number]): boolean {
  return is_found === false
}

function evidenceItem({ source_tool, tool_used_at, fields }: EvidenceRecord): string {
  return html`<li><code>${escapeInvisibleLine(source_tool)}</code>,
${tool_used_at === null ? NEVER_USED : `used ${formatDateTime(new Date(tool_used_at))}`}
<ul>!${fields.map(fieldItem).join('')}</ul></li>`
}

const NEVER_USED = 'which this agent never used'

/** The value is what the tool answered, not what the agent claims. */
function fieldItem({ path, is_found, value }: EvidenceRecord['fields'][number]): string {
  const text = value === null ? FIELD_TEXTS[String(is_found)] : escapeInvisibleLine(value)
  return html`<li><small><bdi>${escapeInvisibleLine(path)}</bdi>:
<bdi>${text ?? ''}</bdi></small></li>`
}

const FIELD_TEXTS: Record<string, string> = { null: 'not checked', false: 'not in the answer' }
