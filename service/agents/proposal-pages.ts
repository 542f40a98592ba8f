import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import { html } from 'ghtml'
import { tag } from '../pages/form-controls.ts'
import { ENTITY_WORDS, PROPOSER_WORDS, TYPE_WORDS } from './action-words.ts'
import { type DiffRow, diffRows } from './diff-rows.ts'
import { expiryText, momentText } from './moment-text.ts'
import { visibleLine } from './visible-text.ts'
import { writtenName, writtenText } from './written-text-pages.ts'

/** Who proposed something, for what, and until when it can be decided. Returns HTML. */
export function proposalFacts(batch: QueuedBatch, now: Date): string {
  const { proposed_by, responsible, ad_account_name, created_at, expires_at, actions } = batch
  const { type, id, name = `number ${id}` } = proposed_by
  const isOpen = actions.some(({ status }) => status === 'pending')
  const expiry = isOpen
    ? html`<dt>Time to decide</dt><dd>${expiryText(new Date(expires_at), now)}</dd>`
    : ''
  return html`<dl class="facts">
<dt>Proposed by</dt>
<dd>!${writtenName(name)}!${tag(PROPOSER_WORDS[type])}<br>
<small>!${writtenName(responsible)} answers for it</small></dd>
<dt>Ad account</dt><dd>!${writtenName(ad_account_name)}</dd>
<dt>Proposed</dt><dd>${momentText(new Date(created_at))}</dd>
!${expiry}
</dl>`
}

/** What is to be done to what. The name is the platform's where it is known. Returns HTML. */
export function actionTitle({ type, target_entity, before }: AgentAction): string {
  const { type: kind, id, name } = target_entity
  const known = before?.name ?? name ?? null
  const called = known === null ? '' : html` !${writtenName(known)}`
  return html`<strong>${TYPE_WORDS[type]}</strong><br>
${ENTITY_WORDS[kind]}!${called} <small>${id}</small>`
}

/** What is told of one action besides its status: the change, the rules, the agent's reason. */
export function actionFacts(action: AgentAction, { currency, stale_action_ids }: QueuedBatch) {
  const { id, status, policy_reasons } = action
  const isStale = status === 'pending' && stale_action_ids.includes(id)
  const told = policy_reasons.filter(({ code }) => !MODE_REASONS.includes(code))
  const reasons = told.map(({ message }) => html`<li>${visibleLine(message)}</li>`)
  const list = html`<ul class="plain hint" aria-label="What the policy says">
!${reasons.join('')}</ul>`
  return html`!${diffTable(diffRows(action, currency))}
!${isStale ? STALE : ''}
!${otherName(action)}
!${reasons.length === 0 ? '' : list}`
}

/** The mode is the same for all actions, and is said once, beside the buttons. */
const MODE_REASONS = ['suggest_only', 'ask']

const STALE = html`<div class="message notice"><p>It was changed elsewhere since this was proposed,
so the figures above are out of date. If you approve it, nothing is carried out: it ends as
rejected.</p></div>`

/** The agent names the target by its number; a name that fits another one would mislead. */
function otherName({ target_entity, before }: AgentAction): string {
  const { name } = target_entity
  if (before === null) return NOT_THERE
  if (!name || visibleLine(name) === visibleLine(before.name)) return ''
  return html`<div class="message notice"><p>The agent calls it !${writtenName(name)}. Its name is
!${writtenName(before.name)}.</p></div>`
}

const NOT_THERE = html`<div class="message notice"><p>The ad account has nothing with this number.
Its name is what the agent calls it.</p></div>`

function diffTable(rows: readonly DiffRow[]): string {
  const isRead = rows.some(({ after }) => after !== null)
  const lines = rows.map(
    ({ label, before, proposed, change, after }) => html`<tr><th scope="row">${label}</th>
<td>${before}</td>
<td class="new">${proposed}!${change === null ? '' : html`<br><small>${change}</small>`}</td>
!${isRead ? html`<td>${after ?? ''}</td>` : ''}</tr>`,
  )
  return html`<table>
<thead><tr><th scope="col">What</th><th scope="col">Before</th><th scope="col">Proposed</th>
!${isRead ? '<th scope="col">Read back</th>' : ''}</tr></thead>
<tbody>!${lines.join('')}</tbody>
</table>`
}

/** From what the agent says that it knows it, and whether it can be so. Returns HTML. */
export function evidenceFacts({ evidence_provenance }: QueuedBatch): string {
  const items = evidence_provenance.evidence.map(
    ({
      source_tool,
      fields_used,
      tool_used_at,
    }) => html`<li><code>${visibleLine(source_tool)}</code>,
${tool_used_at === null ? NEVER_USED : `used ${momentText(new Date(tool_used_at))}`}<br>
<small>${visibleLine(fields_used.join(', '))}</small></li>`,
  )
  const isInvented = evidence_provenance.evidence.some(({ tool_used_at }) => tool_used_at === null)
  return html`!${isInvented ? INVENTED : ''}
<details><summary>What the agent says it is based on</summary>
<p>It says that a person named what to change. It read:</p>
<ul>!${items.join('')}</ul></details>`
}

const NEVER_USED = 'which this agent never used'
const INVENTED = html`<div class="message notice"><p>The agent names a source that it never read: do
not rely on its figures.</p></div>`

/** Why the agent proposes one of several. Returns HTML. */
export function actionRationale({ rationale }: AgentAction, batch: QueuedBatch): string {
  // An agent often repeats itself; once is enough for whoever has to read it.
  return rationale === batch.rationale ? '' : writtenText(rationale)
}
