import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import type { EvidenceProvenance } from '@signalbox/contract/agents/evidence.ts'
import { html } from 'ghtml'
import { formatDateTime } from '../../runtime/util/time.ts'
import { escapeInvisibleLine } from './untrusted-text.ts'

type EvidenceRecord = EvidenceProvenance['evidence'][number]

/**
 * The evidence that the agent cites, with the values of the tools' answers. Warns if the agent
 * chose the entities, never used a source, or cites a field that no answer has. Returns HTML.
 */
export function evidenceDetails({ evidence_provenance }: QueuedBatch): string {
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
