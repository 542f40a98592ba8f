import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { isSameSetting } from '../approvals/is-unchanged.ts'
import type { Action } from '../proposals/action.ts'

/**
 * What an execution has come to:
 * - `as_proposed`: the entity is as the action wanted it.
 * - `not_applied`: it is not, and nobody has changed it since, so that the platform did something
 *   else than it was told. What was before can be put back.
 * - `changed_elsewhere`: somebody has changed it since, or it is gone. Nothing may be put back over
 *   what they did.
 */
export type Verification = 'as_proposed' | 'not_applied' | 'changed_elsewhere'

/** Compares what was read back with what was proposed; `after` is as the change had left it. */
export function verifyAfter(
  { proposed, after }: Pick<Action, 'proposed' | 'after'>,
  found: EntityState | null,
): Verification {
  if (found === null || proposed === null || after === null) return 'changed_elsewhere'
  if (isSameSetting(found, proposed)) return 'as_proposed'
  return found.version === after.version ? 'not_applied' : 'changed_elsewhere'
}
