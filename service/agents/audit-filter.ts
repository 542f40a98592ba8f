import { addTextFault, FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { AUDIT_ACTIONS, AUDIT_SUBJECT_TYPES } from './audit/audit-entry.ts'
import type { AuditQuery } from './audit/read-audit.ts'

const LIMIT_DEFAULT = 50
export const ENTRIES_MAX = 200
const SUBJECT_CHARACTERS_MAX = 100

/**
 * Which entries a query asks for: `before`, `action`, `subject_type`, `subject_id`, `limit`. Throws
 * a 422 refusal with every wrong one.
 */
export function auditFilter(query: unknown): AuditQuery {
  const given = query as Record<string, unknown>
  const faults = new FieldErrorList()
  const filter = {
    before: count(faults, 'before', given.before),
    action: word(faults, 'action', { text: given.action, words: AUDIT_ACTIONS }),
    subjectType: word(faults, 'subject_type', {
      text: given.subject_type,
      words: AUDIT_SUBJECT_TYPES,
    }),
    subjectId: subject(faults, given.subject_id),
    limit: Math.min(count(faults, 'limit', given.limit) ?? LIMIT_DEFAULT, ENTRIES_MAX),
  }
  if (!faults.isEmpty) throw Refusal.ofFields(faults.toErrors())
  return filter
}

function count(faults: FieldErrorList, field: string, text: unknown): number | undefined {
  if (text === undefined) return undefined
  const number = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (number >= 1) return number
  faults.add(field, `The ${field} field must be an integer of at least 1.`)
  return undefined
}

function word(
  faults: FieldErrorList,
  field: string,
  { text, words }: { text: unknown; words: readonly string[] },
): string | undefined {
  if (text === undefined) return undefined
  const known = words.find(one => one === text)
  if (known === undefined)
    faults.add(field, `The ${field} field must be one of: ${words.join(', ')}.`)
  return known
}

function subject(faults: FieldErrorList, text: unknown): string | undefined {
  if (text === undefined) return undefined
  addTextFault(faults, 'subject_id', text)
  if (typeof text === 'string' && text.length <= SUBJECT_CHARACTERS_MAX) return text
  faults.add('subject_id', `The subject_id field has at most ${SUBJECT_CHARACTERS_MAX} characters.`)
  return undefined
}
