import type { Evidence, EvidenceProvenance } from '@signalbox/contract/agents/evidence.ts'
import type { ProposalSubmission } from '@signalbox/contract/agents/proposals.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { FieldErrorList } from '../../runtime/http/validator.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import type { AgentPrincipal } from '../../workspaces/oauth/authenticate-agent.ts'
import { findToolAnswers, findToolUses, type ToolAnswer } from './tool-use-store.ts'

type EvidenceRecord = EvidenceProvenance['evidence'][number]
type EvidenceField = EvidenceRecord['fields'][number]

/**
 * Checks the evidence of a proposal against the answers that its credential got from each tool, and
 * keeps the values for the approver: the tools may answer differently by then. Throws a 422 refusal
 * that names every source the credential never called and every field that no kept answer has.
 * Nothing is checked for a credential that never used MCP, because REST answers are not kept.
 */
export async function checkEvidence(
  transaction: Transaction,
  principal: AgentPrincipal,
  { target_source, evidence }: Pick<ProposalSubmission, 'target_source' | 'evidence'>,
): Promise<EvidenceProvenance> {
  const uses = await findToolUses(transaction, principal, new Date(0))
  const tools = evidence.map(({ source_tool }) => source_tool)
  const answers = await findToolAnswers(transaction, principal, tools)
  const errors = new FieldErrorList()
  const records = evidence.map((item, index) => {
    const source = {
      usedAt: uses.get(item.source_tool) ?? null,
      answers: answers.filter(({ tool }) => tool === item.source_tool),
    }
    const record = toEvidenceRecord(item, source)
    if (uses.size > 0) addEvidenceErrors(errors, `evidence.${index}`, { record, source })
    return record
  })
  if (!errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
  return { target_source, evidence: records }
}

/** What a credential did with one tool. */
interface Source {
  usedAt: Date | null
  /** Newest first. */
  answers: readonly ToolAnswer[]
}

function toEvidenceRecord(
  { source_tool, fields_used, action_index }: Evidence,
  { usedAt, answers }: Source,
): EvidenceRecord {
  return {
    source_tool,
    fields_used,
    action_index: action_index ?? null,
    tool_used_at: usedAt?.toISOString() ?? null,
    fields: fields_used.map(path => findField(path, answers)),
  }
}

function addEvidenceErrors(
  errors: FieldErrorList,
  path: string,
  { record: { source_tool: tool, fields }, source }: { record: EvidenceRecord; source: Source },
): void {
  if (source.usedAt === null) {
    const field = `${path}.source_tool`
    errors.add(
      field,
      `The ${field} field names ${tool}, which this credential never called: call it, and cite ` +
        'what it answers.',
    )
  }
  const members = [...new Set(source.answers.flatMap(({ answer }) => memberNames(answer)))]
  fields.forEach(({ is_found }, index) => {
    if (is_found !== false) return
    const field = `${path}.fields_used.${index}`
    errors.add(
      field,
      `The ${field} field is in none of the recent answers of ${tool} to this credential, which ` +
        `have: ${members.join(', ')}. Write a path such as a.0.b, or call the tool again.`,
    )
  })
}

/** Top-level members have the names of the contract; deeper ones may come from other people. */
function memberNames(answer: unknown): string[] {
  return isObject(answer) ? Object.keys(answer) : []
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
  // An answer that was too long to keep, or that an earlier version did not keep, may have it.
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
