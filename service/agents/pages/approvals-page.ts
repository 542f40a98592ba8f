import type { ApprovalQueue, QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import { html } from 'ghtml'
import { SHORTCUT_SCRIPT_PATH, shortcutHint } from '../../runtime/pages/shortcuts.ts'
import { formatTimeLeft } from '../../runtime/util/time.ts'
import type { PageMembership } from '../../workspaces/users/page-membership.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { workspacePage } from '../../workspaces/users/workspace-pages.ts'
import type { DecidedPage } from '../approvals/decided-actions.ts'
import { decidedRow } from './decision-results.ts'
import { PROPOSER_LABELS } from './labels.ts'
import { changeLine, isStalePending } from './proposal-details.ts'
import { escapeInvisibleLine, untrustedName } from './untrusted-text.ts'

interface ApprovalsFrame {
  user: CurrentUser
  membership: PageMembership
}

export interface ApprovalsPage extends ApprovalsFrame {
  queue: ApprovalQueue
  now: Date
}

/** Changes per proposal in the queue; the page of the proposal shows all. */
const CHANGES_SHOWN_MAX = 3
const RATIONALE_CHARACTERS_MAX = 200

/** Pending proposals of a workspace, those that expire first on top. */
export function approvalsPage({ user, membership, queue, now }: ApprovalsPage): string {
  const { batches } = queue
  const base = pathOf(membership)
  const rows = batches.map(batch => proposalRow(batch, { base, now }))
  const list = html`<ol class="card list" aria-label="Pending proposals">!${rows.join('')}</ol>
!${shortcutHint('queue')}`
  const content = html`!${viewLinks(membership, 'pending')}
!${batches.length === 0 ? NOTHING : list}
!${queueLinks(queue, base)}`
  return workspacePage({
    user,
    membership,
    content,
    tab: 'approvals',
    title: 'Pending approvals',
    script: SHORTCUT_SCRIPT_PATH,
  })
}

const NOTHING = html`<section class="card"><p>No pending approvals. A change that an agent
proposes and that needs approval stays here until a person decides or the approval period
ends.</p></section>`

function proposalRow(batch: QueuedBatch, { base, now }: { base: string; now: Date }): string {
  const { id, rationale, actions, may_decide, may_not_reason } = batch
  const pending = actions.filter(({ status }) => status === 'pending')
  const shown = pending.slice(0, CHANGES_SHOWN_MAX)
  const moreCount = actions.length - shown.length
  const label = may_decide ? 'Review and decide' : 'Review'
  const changes = shown.map(action => {
    const stale = isStalePending(action, batch) ? STALE : ''
    return html`<li>!${changeLine(action, batch.currency)}!${stale}</li>`
  })
  return html`<li class="proposal" data-shortcut-item>
<div>
<h2 id="batch-${id}">Proposal ${id}: ${countText(pending.length)}</h2>
<ul class="plain">!${changes.join('')}</ul>
!${moreCount > 0 ? html`<p>And ${moreCount} more in the same proposal.</p>` : ''}
<p class="excerpt" dir="auto">${escapeInvisibleLine(rationale, RATIONALE_CHARACTERS_MAX)}</p>
<p class="hint">!${proposalFacts(batch, now)}</p>
!${may_not_reason === null ? '' : html`<p class="hint">${may_not_reason}</p>`}
</div>
<a class="button small" href="${base}/${id}" aria-describedby="batch-${id}">${label}</a>
</li>`
}

const STALE = html`<br><small>The entity was changed elsewhere after the proposal.</small>`

function proposalFacts(batch: QueuedBatch, now: Date): string {
  const { proposed_by, responsible, ad_account_name, expires_at } = batch
  const { type, id, name = `ID ${id}` } = proposed_by
  const agent = html`!${untrustedName(name)} (${PROPOSER_LABELS[type]} of
!${untrustedName(responsible)})`
  const proposer = type === 'person' ? untrustedName(responsible) : agent
  return html`!${proposer} · !${untrustedName(ad_account_name)} ·
${formatTimeLeft(new Date(expires_at), now)}`
}

export interface DecidedApprovalsPage extends ApprovalsFrame {
  decided: DecidedPage
}

/** Actions that wait for no decision, newest first, with their outcome. */
export function decidedApprovalsPage(page: DecidedApprovalsPage): string {
  const { user, membership, decided } = page
  const base = pathOf(membership)
  const rows = decided.actions.map(entry => decidedRow(entry, base))
  const list = html`<ol class="card list" aria-label="Decided changes">!${rows.join('')}</ol>`
  const older = html`<nav class="actions part" aria-label="Pages">
<a href="${base}?view=decided&before=${decided.nextBefore}" rel="next">Older</a></nav>`
  const content = html`!${viewLinks(membership, 'decided')}
!${rows.length === 0 ? '<section class="card"><p>No decided changes.</p></section>' : list}
!${decided.nextBefore === null ? '' : older}`
  const title = 'Decided approvals'
  return workspacePage({ user, membership, tab: 'approvals', title, content })
}

function viewLinks(membership: PageMembership, current: 'pending' | 'decided'): string {
  const link = (view: typeof current, label: string, query: string) => {
    const mark = view === current ? ' aria-current="page"' : ''
    return html`<a href="${pathOf(membership)}${query}"!${mark}>${label}</a>`
  }
  return html`<nav class="views" aria-label="View">!${link('pending', 'Pending', '')}
!${link('decided', 'Decided', '?view=decided')}</nav>`
}

function pathOf({ workspaceId }: PageMembership): string {
  return `/workspaces/${workspaceId}/approvals`
}

function countText(count: number): string {
  return count === 1 ? 'one change' : `${count} changes`
}

function queueLinks({ page, has_more }: ApprovalQueue, base: string): string {
  if (page === 1 && !has_more) return ''
  const before = page > 1 ? html`<a href="${base}?page=${page - 1}">Previous</a>` : ''
  const after = has_more ? html`<a href="${base}?page=${page + 1}">Next</a>` : ''
  return html`<nav class="actions part" aria-label="Pages">!${before} !${after}</nav>`
}
