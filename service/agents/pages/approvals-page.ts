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

/** How many actions of a proposal the queue shows; the others are on its own page. */
const ACTIONS_SHOWN_MAX = 3

/** What waits for a person in a workspace, what runs out first on top. */
export function approvalsPage({ person, membership, queue, now }: ApprovalsPage): string {
  const { batches } = queue
  const base = `/workspaces/${membership.workspaceId}/approvals`
  const content = html`<h2>What waits for a decision</h2>
!${batches.length === 0 ? NOTHING : ''}
!${batches.map(batch => batchCard(batch, { base, now })).join('')}
!${pageLinks(queue, base)}`
  return workspacePage({ person, membership, tab: 'approvals', content })
}

const NOTHING = html`<section class="card"><p>Nothing waits. When an agent proposes a change that
needs a person, it stands here until somebody decides or its time is over.</p></section>`

function batchCard(batch: QueuedBatch, { base, now }: { base: string; now: Date }): string {
  const { id, rationale, actions, may_decide, may_not_reason } = batch
  const waiting = actions.filter(({ status }) => status === 'pending')
  const shown = waiting.slice(0, ACTIONS_SHOWN_MAX)
  const moreCount = actions.length - shown.length
  const label = may_decide ? 'Look at it and decide' : 'Look at it'
  return html`<section class="card" aria-labelledby="batch-${id}">
<h2 id="batch-${id}">Proposal ${id}: ${countText(waiting.length)}</h2>
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
  const before = page > 1 ? html`<a href="${base}?page=${page - 1}">Sooner</a>` : ''
  const after = has_more ? html`<a href="${base}?page=${page + 1}">Later</a>` : ''
  return html`<nav class="actions part" aria-label="Pages">!${before} !${after}</nav>`
}
