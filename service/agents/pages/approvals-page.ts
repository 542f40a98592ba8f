import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { ApprovalQueue, QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import { html } from 'ghtml'
import type { CurrentPerson } from '../../people/session-store.ts'
import { workspacePage } from '../../people/workspace-pages.ts'
import type { Membership } from '../../people/workspace-store.ts'
import { actionDetails, actionTitle, proposalSummary } from './proposal-details.ts'
import { untrustedExcerpt } from './untrusted-text.ts'

export interface ApprovalsPage {
  person: CurrentPerson
  membership: Membership
  queue: ApprovalQueue
  now: Date
}

/** Actions per proposal in the queue; the page of the proposal shows all. */
const ACTIONS_SHOWN_MAX = 3

/** Pending proposals of a workspace, those that expire first on top. */
export function approvalsPage({ person, membership, queue, now }: ApprovalsPage): string {
  const { batches } = queue
  const base = `/workspaces/${membership.workspaceId}/approvals`
  const content = html`<h2>Pending approvals</h2>
!${batches.length === 0 ? NOTHING : ''}
!${batches.map(batch => batchCard(batch, { base, now })).join('')}
!${pageLinks(queue, base)}`
  return workspacePage({ person, membership, tab: 'approvals', content })
}

const NOTHING = html`<section class="card"><p>No pending approvals. A change that an agent
proposes and that needs approval stays here until a person decides or the approval period
ends.</p></section>`

function batchCard(batch: QueuedBatch, { base, now }: { base: string; now: Date }): string {
  const { id, rationale, actions, may_decide, may_not_reason } = batch
  const pending = actions.filter(({ status }) => status === 'pending')
  const shown = pending.slice(0, ACTIONS_SHOWN_MAX)
  const moreCount = actions.length - shown.length
  const label = may_decide ? 'Review and decide' : 'Review'
  return html`<section class="card" aria-labelledby="batch-${id}">
<h2 id="batch-${id}">Proposal ${id}: ${countText(pending.length)}</h2>
!${proposalSummary(batch, now)}
!${untrustedExcerpt(rationale)}
!${shown.map(action => actionSection(action, batch)).join('')}
!${moreCount > 0 ? html`<p>And ${moreCount} more in the same proposal.</p>` : ''}
!${may_not_reason === null ? '' : html`<p class="hint">${may_not_reason}</p>`}
<p><a class="button" href="${base}/${id}" aria-describedby="batch-${id}">${label}</a></p>
</section>`
}

function actionSection(action: AgentAction, batch: QueuedBatch): string {
  return html`<div class="part">
<h3>!${actionTitle(action)}</h3>
!${actionDetails(action, batch)}
</div>`
}

function countText(count: number): string {
  return count === 1 ? 'one change' : `${count} changes`
}

function pageLinks({ page, has_more }: ApprovalQueue, base: string): string {
  if (page === 1 && !has_more) return ''
  const before = page > 1 ? html`<a href="${base}?page=${page - 1}">Previous</a>` : ''
  const after = has_more ? html`<a href="${base}?page=${page + 1}">Next</a>` : ''
  return html`<nav class="actions part" aria-label="Pages">!${before} !${after}</nav>`
}
