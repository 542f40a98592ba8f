import type { Evidence, EvidenceProvenance } from '@signalbox/contract/agents/evidence.ts'
import type { ProposalSubmission } from '@signalbox/contract/agents/proposals.ts'
import type { Transaction } from '../../db/database.ts'
import type { AgentPrincipal } from '../../oauth/authenticate-agent.ts'
import { isObject } from '../../util/is-object.ts'
import { findToolAnswers, findToolUses, type ToolAnswer } from './tool-use-store.ts'

type EvidenceRecord = EvidenceProvenance['evidence'][number]
type EvidenceField = EvidenceRecord['fields'][number]

/**
 * Checks the evidence of a proposal against the answers that its credential got from each tool, and
 * keeps the values for the approver: the tools may answer differently by then. A field that no
 * answer has is not refused, because the approver decides what that means.
 */
export async function checkEvidence(
  transaction: Transaction,
  principal: AgentPrincipal,
  { target_source, evidence }: Pick<ProposalSubmission, 'target_source' | 'evidence'>,
): Promise<EvidenceProvenance> {
  const uses = await findToolUses(transaction, principal, new Date(0))
  const tools = evidence.map(({ source_tool }) => source_tool)
  const answers = await findToolAnswers(transaction, principal, tools)
  const records = evidence.map(item => {
    const ofTool = answers.filter(({ tool }) => tool === item.source_tool)
    return toEvidenceRecord(item, uses.get(item.source_tool) ?? null, ofTool)
  })
  return { target_source, evidence: records }
}

function toEvidenceRecord(
  { source_tool, fields_used, action_index }: Evidence,
  usedAt: Date | null,
  answers: readonly ToolAnswer[],
): EvidenceRecord {
  return {
    source_tool,
    fields_used,
    action_index: action_index ?? null,
    tool_used_at: usedAt?.toISOString() ?? null,
    fields: fields_used.map(path => findField(path, answers)),
  }
}

/** The value in the newest answer that has the field. */
function findField(path: string, answers: readonly ToolAnswer[]): EvidenceField {
  for (const { answer, answeredAt } of answers) {
    const value = readPath(answer, path)
    if (value === undefined) continue
    return {
      path,
      is_found: true,
      value: formatValue(value),
      answered_at: answeredAt.toISOString(),
    }
  }
  const isComplete = answers.length > 0 && answers.every(({ answer }) => answer !== null)
  return { path, is_found: isComplete ? false : null, value: null, answered_at: null }
}

const PATH_PARTS_MAX = 20

/** Undefined if the value has no such member. Accepts `a.0.b` and `a[0].b`. */
function readPath(answer: unknown, path: string): unknown {
  const parts = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  if (parts.length > PATH_PARTS_MAX) return undefined
  let value: unknown = answer
  for (const part of parts) {
    if (Array.isArray(value)) value = /^\d+$/.test(part) ? value[Number(part)] : undefined
    else value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined
    if (value === undefined) return undefined
  }
  return value
}

const VALUE_CHARACTERS_MAX = 300

function formatValue(value: unknown): string {
  const text = JSON.stringify(value)
  if (text.length <= VALUE_CHARACTERS_MAX) return text
  return `${text.slice(0, VALUE_CHARACTERS_MAX).toWellFormed()}…`
}
