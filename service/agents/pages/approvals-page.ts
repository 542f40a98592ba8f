import type {
  ActionOutcome,
  ActionStatus,
  AgentAction,
} from '@signalbox/contract/agents/actions.ts'
import type { ApprovalQueue, QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import type { PolicyStateAnswer } from '@signalbox/contract/agents/policy.ts'
import { hasPermission } from '@signalbox/contract/session/roles.ts'
import { html } from 'ghtml'
import { tag } from '../../runtime/pages/form-controls.ts'
import { SHORTCUT_SCRIPT_PATH, shortcutHint } from '../../runtime/pages/layout.ts'
import { formatDateTime, formatTimeLeft } from '../../runtime/util/time.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import type { PageMembership } from '../../workspaces/users/workspace-pages.ts'
import { workspacePage } from '../../workspaces/users/workspace-pages.ts'
import type { DecidedAction, DecidedPage } from '../approvals/approval-queue.ts'
import {
  ACTION_STATUS_LABELS,
  escapeInvisibleLine,
  PROPOSER_LABELS,
  untrustedName,
} from './page-text.ts'
import { waitingPolicyCard } from './policy-facts.ts'
import { changeLine, isStalePending } from './proposal-details.ts'

interface ApprovalsFrame {
  user: CurrentUser
  membership: PageMembership
}

export interface ApprovalsPage extends ApprovalsFrame {
  queue: ApprovalQueue
  state: PolicyStateAnswer
  /** Distinct currencies of the active ad accounts. */
  currencies: readonly string[]
  now: Date
}

/** Changes per proposal in the queue; the page of the proposal shows all. */
const CHANGES_SHOWN_MAX = 3
const RATIONALE_CHARACTERS_MAX = 200

/** The policy that waits, and pending proposals of a workspace, those that expire first on top. */
export function approvalsPage({ user, membership, queue, now, ...policy }: ApprovalsPage): string {
  const { workspaceId, role } = membership
  const isOwner = hasPermission(role, 'change_policy')
  const { batches } = queue
  const base = pathOf(membership)
  const rows = batches.map(batch => proposalRow(batch, { base, now }))
  const list = html`<ol class="card list" aria-label="Pending proposals">!${rows.join('')}</ol>
!${shortcutHint('queue')}`
  const content = html`!${viewLinks(membership, 'pending')}
!${waitingPolicyCard({ ...policy, workspaceId, isOwner })}
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

/** One decided action in a list: the change, its outcome and who decided. Returns HTML. */
function decidedRow({ action, currency, decidedBy }: DecidedAction, base: string): string {
  return html`<li class="decided">
<a href="${base}/${action.batch_id}">!${changeLine(action, currency)}</a>
!${statusTag(action.status)}
<p class="hint">!${decisionText(action, decidedBy)} ${resultText(action)}</p>
</li>`
}

/** The status of an action. Returns HTML. */
export function statusTag(status: ActionStatus): string {
  return tag(ACTION_STATUS_LABELS[status], STATUS_LOOKS[status])
}

const STATUS_LOOKS: Partial<Record<ActionStatus, 'success' | 'notice' | 'danger'>> = {
  verified: 'success',
  failed: 'danger',
  execution_uncertain: 'danger',
  rolled_back: 'notice',
}

/** Who decided and when. Returns HTML. */
function decisionText(action: AgentAction, decidedBy: string | null): string {
  const { decided_at, policy_decision, created_at } = action
  if (decided_at === null) {
    return html`${POLICY_TEXTS[policy_decision]}${formatDateTime(new Date(created_at))}.`
  }
  const by = decidedBy === null ? '' : html` by !${untrustedName(decidedBy)}`
  return html`${decisionVerb(action)}!${by}, ${formatDateTime(new Date(decided_at))}.`
}

const POLICY_TEXTS: Record<AgentAction['policy_decision'], string> = {
  allow: 'Allowed by the policy, ',
  block: 'Blocked by the policy, ',
  require_approval: 'Not decided; proposed ',
}

/** An approval can end as rejected, when the entity was changed elsewhere in the meantime. */
function decisionVerb({ status, outcome }: Pick<AgentAction, 'status' | 'outcome'>): string {
  if (status !== 'rejected') return 'Approved'
  return outcome === null ? 'Rejected' : 'Decided'
}

/**
 * The result of an action and the next step for people. The `explanation` of an action addresses
 * agents instead.
 */
export function resultText({ status, outcome }: Pick<AgentAction, 'status' | 'outcome'>): string {
  const knownOutcome =
    outcome !== null && Object.hasOwn(OUTCOME_RESULTS, outcome) ? (outcome as ActionOutcome) : null
  if (knownOutcome === 'batch_failed') return OUTCOME_RESULTS[knownOutcome]
  return knownOutcome === null
    ? STATUS_RESULTS[status]
    : `${STATUS_RESULTS[status]} ${OUTCOME_RESULTS[knownOutcome]}`
}

const CHECK_YOURSELF = 'Check the ad account yourself.'

const STATUS_RESULTS: Record<ActionStatus, string> = {
  pending: 'It is pending approval.',
  rejected: 'Nothing was changed.',
  approved_without_execution: 'Nothing was changed here: make the change on the platform yourself.',
  executing: 'Reload this page in a moment.',
  executed_pending_verification: 'Reload this page in a moment.',
  verified: 'The change was verified and is as proposed.',
  failed: 'Nothing was changed.',
  execution_uncertain: `It was requested, but the actual state is different. ${CHECK_YOURSELF}`,
  rolled_back: 'It did not take effect as proposed, and the previous state was restored.',
  blocked: 'The policy does not allow it. Nothing was changed.',
}

const OUTCOME_RESULTS: Record<ActionOutcome, string> = {
  expired: 'The approval period ended without a decision.',
  canceled: 'The agent canceled it.',
  stale: 'The entity was changed elsewhere after the proposal.',
  proposer_revoked: 'The agent that proposed it no longer has access.',
  policy_changed: 'The policy was changed after the proposal.',
  account_changed: 'The ad account was disabled after the proposal.',
  not_applied: 'The platform did not apply it.',
  changed_elsewhere: 'The entity was changed elsewhere at the same time.',
  not_executed:
    'It was not executed, because another change of this all-or-nothing proposal failed.',
  batch_failed:
    'It was executed, and the previous state was restored, because another change of this ' +
    'all-or-nothing proposal failed.',
}
