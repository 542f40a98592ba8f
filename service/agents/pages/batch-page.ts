import type {
  ActionOutcome,
  ActionStatus,
  AgentAction,
} from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import type { ExecutionMode } from '@signalbox/contract/agents/policy.ts'
import { html } from 'ghtml'
import { errorSummary, type FormErrors, message, tag } from '../../pages/form-controls.ts'
import type { CurrentPerson } from '../../people/session-store.ts'
import { workspacePage } from '../../people/workspace-pages.ts'
import type { Membership } from '../../people/workspace-store.ts'
import { formatDateTime } from '../../util/date-text.ts'
import type { DecisionRecord } from '../approvals/approval-queue.ts'
import { decisionForm, type RejectedDecisionForm } from './decision-form.ts'
import { ACTION_STATUS_LABELS } from './labels.ts'
import {
  actionDetails,
  actionRationale,
  actionTitle,
  evidenceDetails,
  proposalSummary,
} from './proposal-details.ts'
import { untrustedName, untrustedText } from './untrusted-text.ts'

export interface BatchPage {
  person: CurrentPerson
  membership: Membership
  batch: QueuedBatch
  /** What is done with what is approved. */
  mode: ExecutionMode
  /** By the ids of the actions. */
  traces: ReadonlyMap<number, DecisionRecord>
  now: Date
  /** What the form holds when it was refused. */
  typed?: RejectedDecisionForm
  notice?: string | undefined
}

/** One proposal: what it would change, the form to decide on it, and what became of it. */
export function batchPage(given: BatchPage): string {
  const { person, membership, batch, now, notice, typed } = given
  const waiting = batch.actions.filter(({ status }) => status === 'pending')
  const ended = batch.actions.filter(({ status }) => status !== 'pending')
  const base = `/workspaces/${membership.workspaceId}`
  const results = ended.length === 0 ? '' : resultsCard(ended, given)
  const isResultFirst = waiting.length === 0 || notice !== undefined
  const content = html`<p><a href="${base}/approvals">All that wait</a></p>
!${refusal(typed?.errors ?? {})}
!${nothingPending(given, waiting.length)}
!${isResultFirst ? results : ''}
<section class="card" aria-labelledby="proposal">
<h2 id="proposal">Proposal ${batch.id}</h2>
!${proposalSummary(batch, now)}
<h3><strong>What the agent writes</strong></h3>
!${untrustedText(batch.rationale)}
!${evidenceDetails(batch)}
</section>
!${waiting.length === 0 ? '' : decisionForm({ ...given, waiting })}
!${isResultFirst ? '' : results}`
  return workspacePage({ person, membership, tab: 'approvals', notice, content })
}

/** What is wrong with a field is a link to it; a refusal of the whole has none to lead to. */
function refusal(faults: FormErrors): string {
  const { '': sentence } = faults
  if (sentence === undefined) return errorSummary(faults)
  return html`<div class="message danger" role="alert" tabindex="-1" autofocus>
<h2>Nothing was decided just now</h2><p>${sentence}</p></div>`
}

/** A form that came too late: somebody else decided while this page was open. */
function nothingPending({ typed }: BatchPage, waitingCount: number): string {
  if (!typed || waitingCount > 0) return ''
  const sentence = 'Nothing of this proposal waits any more. What became of it is below.'
  return html`!${message('notice', sentence)}
!${typed.reason === '' ? '' : html`<p>What you wrote:</p>!${untrustedText(typed.reason)}`}`
}

function resultsCard(ended: readonly AgentAction[], given: BatchPage): string {
  const parts = ended.map((action, position) => resultPart(action, given, position === 0))
  return html`<section class="card" aria-labelledby="results">
<h2 id="results">What became of it</h2>
!${parts.join('')}
</section>`
}

function resultPart(action: AgentAction, given: BatchPage, isFirst: boolean): string {
  const { batch, membership, traces } = given
  const { id, status } = action
  const log = `/workspaces/${membership.workspaceId}/audit?subject_type=action&subject_id=${id}`
  return html`<div!${isFirst ? '' : ' class="part"'}>
<h3>!${actionTitle(action)}</h3>
<p>!${tag(ACTION_STATUS_LABELS[status])} ${resultText(action)}</p>
!${actionRationale(action, batch)}
!${actionDetails(action, batch)}
!${decisionDetails(action, traces.get(id)?.decidedBy ?? null)}
!${receiptDetails(traces.get(id)?.receipt ?? null)}
<p><a href="${log}">Action ${id} in the log</a></p>
</div>`
}

function decisionDetails({ decided_at, decision_reason }: AgentAction, by: string | null): string {
  if (decided_at === null) return ''
  const who = by === null ? '' : html` by !${untrustedName(by)}`
  const when = formatDateTime(new Date(decided_at))
  return html`<p class="hint">Decided ${when}!${who}, with this reason:</p>
!${untrustedText(decision_reason ?? '')}`
}

function receiptDetails(receipt: DecisionRecord['receipt']): string {
  if (!receipt) return ''
  const { document_sha256, chain_entry } = receipt
  return html`<details><summary>Receipt: entry ${chain_entry.sequence} of the log</summary>
<dl>
<dt>SHA-256 of what was decided and done</dt><dd><code>${document_sha256}</code></dd>
<dt>SHA-256 of the entry in the log</dt><dd><code>${chain_entry.hash}</code></dd>
</dl></details>`
}

/**
 * What became of an action and what is left to do, for people: the explanation that agents get
 * tells an agent what to do.
 */
function resultText({ status, outcome }: Pick<AgentAction, 'status' | 'outcome'>): string {
  const cause =
    outcome !== null && Object.hasOwn(OUTCOME_RESULTS, outcome) ? (outcome as ActionOutcome) : null
  return cause === null
    ? STATUS_RESULTS[status]
    : `${STATUS_RESULTS[status]} ${OUTCOME_RESULTS[cause]}`
}

const CHECK_YOURSELF = 'Look at the ad account yourself.'

const STATUS_RESULTS: Record<ActionStatus, string> = {
  pending: 'It waits for a decision.',
  rejected: 'Nothing was changed.',
  approved_without_execution: 'Nothing was changed here: carry it out at the platform yourself.',
  executing: 'Load this page again in a moment.',
  executed_pending_verification: 'Load this page again in a moment.',
  verified: 'It was read back afterwards and is as proposed.',
  failed: 'Nothing was changed.',
  execution_uncertain: `It was carried out, and something else was read back. ${CHECK_YOURSELF}`,
  rolled_back: 'It did not work as proposed, and what was there before was put back.',
  blocked: 'The policy does not allow it. Nothing was changed.',
}

const OUTCOME_RESULTS: Record<ActionOutcome, string> = {
  expired: 'Its time was over before anybody decided.',
  stale: 'What it was about was changed elsewhere after the proposal.',
  proposer_revoked: 'The agent that proposed it may not act any more.',
  policy_changed: 'The policy was changed after the proposal.',
  account_changed: 'The ad account was disabled after the proposal.',
  not_applied: 'The platform did not apply it.',
  changed_elsewhere: 'Somebody else changed the same thing at that moment.',
}
