import type { DecisionSubmission } from '@signalbox/contract/agents/approvals.ts'
import { Refusal } from '../http/refusal.ts'
import { formText } from '../pages/form-body.ts'
import type { FieldFaults } from '../pages/form-controls.ts'
import { formFaults } from '../people/form-faults.ts'
import { rowId } from '../people/require-role.ts'

/** What the form of a decision holds, as it was sent. */
export interface SentDecision {
  decision: string
  reason: string
  actionIds: readonly number[]
}

/** More than the contract allows, so that what is too long is refused and not cut unseen. */
const REASON_CHARACTERS_MAX = 4_000
const ACTIONS_MAX = 30

export function typedDecision(form: unknown): SentDecision {
  const ids = form instanceof URLSearchParams ? form.getAll('action_ids') : []
  return {
    decision: formText(form, 'decision'),
    // Browsers send every line break as two characters (HTML standard, 4.10.22.4).
    reason: formText(form, 'reason', REASON_CHARACTERS_MAX).replaceAll('\r\n', '\n'),
    actionIds: ids.slice(0, ACTIONS_MAX).flatMap(id => rowId(id) ?? []),
  }
}

/** As `decideActions` takes it, which checks it. No choice is sent as none, never as all. */
export function decisionBody({ decision, reason, actionIds }: SentDecision): DecisionSubmission {
  const given = decision as DecisionSubmission['decision']
  return { decision: given, reason, action_ids: [...new Set(actionIds)] }
}

const SHOWN_STATUSES = [403, 409, 422]

/**
 * What is wrong, by the fields of the form; a refusal of the whole stands under the empty name.
 * Throws again what the page of the proposal cannot show.
 */
export function decisionFaults(error: unknown): FieldFaults {
  if (!(error instanceof Refusal) || !SHOWN_STATUSES.includes(error.status)) throw error
  if (error.status !== 422) return { '': error.message }
  const faults = Object.entries(formFaults(error))
  return Object.fromEntries(
    faults.map(([path, sentence]) => {
      const [field = ''] = path.split('.')
      if (field === 'decision') return ['', 'Choose: approve or reject.']
      return [field, RULES[field]?.(sentence) ?? sentence]
    }),
  )
}

const RULES: Record<string, (sentence: string) => string> = {
  reason: sentence =>
    /greater than/.test(sentence)
      ? 'The reason is too long: write at most 1000 characters.'
      : 'Say why. The reason is kept with the decision.',
  action_ids: sentence =>
    /^The proposal/.test(sentence) ? sentence : 'Choose at least one change.',
}
