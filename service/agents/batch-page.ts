import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import type { ExecutionMode } from '@signalbox/contract/agents/policy.ts'
import { html } from 'ghtml'
import { type FieldFaults, faultSummary, message, tag } from '../pages/form-controls.ts'
import type { CurrentPerson } from '../people/current-person.ts'
import type { Membership } from '../people/member-store.ts'
import { workspacePage } from '../people/workspace-pages.ts'
import { STATUS_WORDS } from './action-words.ts'
import { type DecisionTyped, decisionForm } from './decision-form-page.ts'
import { momentText } from './moment-text.ts'
import {
  actionFacts,
  actionRationale,
  actionTitle,
  evidenceFacts,
  proposalFacts,
} from './proposal-pages.ts'
import type { ActionTrace } from './read-traces.ts'
import { resultWords } from './result-words.ts'
import { writtenName, writtenText } from './written-text-pages.ts'

export interface BatchPage {
  person: CurrentPerson
  membership: Membership
  batch: QueuedBatch
  /** What is done with what is approved. */
  mode: ExecutionMode
  /** By the ids of the actions. */
  traces: ReadonlyMap<number, ActionTrace>
  now: Date
  /** What the form holds when it was refused. */
  typed?: DecisionTyped
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
!${refusal(typed?.faults ?? {})}
!${nothingWaits(given, waiting.length)}
!${isResultFirst ? results : ''}
<section class="card" aria-labelledby="proposal">
<h2 id="proposal">Proposal ${batch.id}</h2>
!${proposalFacts(batch, now)}
<h3><strong>What the agent writes</strong></h3>
!${writtenText(batch.rationale)}
!${evidenceFacts(batch)}
</section>
!${waiting.length === 0 ? '' : decisionForm({ ...given, waiting })}
!${isResultFirst ? '' : results}`
  return workspacePage({ person, membership, tab: 'approvals', notice, content })
}

/** What is wrong with a field is a link to it; a refusal of the whole has none to lead to. */
function refusal(faults: FieldFaults): string {
  const { '': sentence } = faults
  if (sentence === undefined) return faultSummary(faults)
  return html`<div class="message danger" role="alert" tabindex="-1" autofocus>
<h2>Nothing was decided just now</h2><p>${sentence}</p></div>`
}

/** A form that came too late: somebody else decided while this page was open. */
function nothingWaits({ typed }: BatchPage, waitingCount: number): string {
  if (!typed || waitingCount > 0) return ''
  const sentence = 'Nothing of this proposal waits any more. What became of it is below.'
  return html`!${message('notice', sentence)}
!${typed.reason === '' ? '' : html`<p>What you wrote:</p>!${writtenText(typed.reason)}`}`
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
<p>!${tag(STATUS_WORDS[status])} ${resultWords(action)}</p>
!${actionRationale(action, batch)}
!${actionFacts(action, batch)}
!${decisionFacts(action, traces.get(id)?.decidedBy ?? null)}
!${receiptFacts(traces.get(id)?.receipt ?? null)}
<p><a href="${log}">Action ${id} in the log</a></p>
</div>`
}

function decisionFacts({ decided_at, decision_reason }: AgentAction, by: string | null): string {
  if (decided_at === null) return ''
  const who = by === null ? '' : html` by !${writtenName(by)}`
  const when = momentText(new Date(decided_at))
  return html`<p class="hint">Decided ${when}!${who}, with this reason:</p>
!${writtenText(decision_reason ?? '')}`
}

function receiptFacts(receipt: ActionTrace['receipt']): string {
  if (!receipt) return ''
  const { document_sha256, chain_entry } = receipt
  return html`<details><summary>Receipt: entry ${chain_entry.sequence} of the log</summary>
<dl>
<dt>SHA-256 of what was decided and done</dt><dd><code>${document_sha256}</code></dd>
<dt>SHA-256 of the entry in the log</dt><dd><code>${chain_entry.hash}</code></dd>
</dl></details>`
}
