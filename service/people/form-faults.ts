import { Refusal } from '../http/refusal.ts'
import type { FieldFaults } from '../pages/form-controls.ts'

/**
 * What a form shows of a 422: the first sentence about each field. Throws everything else again.
 */
export function formFaults(error: unknown): FieldFaults {
  if (!(error instanceof Refusal) || error.status !== 422) throw error
  const entries = Object.entries(error.errors ?? { '': [error.message] })
  return Object.fromEntries(entries.map(([name, [sentence = '']]) => [name, sentence]))
}
