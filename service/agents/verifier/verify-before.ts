import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Transaction } from '../../db/database.ts'
import { isUnchanged } from '../approvals/is-unchanged.ts'
import type { AdPlatform } from '../policy/ad-platform.ts'
import type { Action } from '../proposals/action.ts'

/**
 * Reads the entity again before it is changed. Null: it is not as it was when the action was judged
 * and approved, so what was approved does not fit any more.
 */
export async function verifyBefore(
  transaction: Transaction,
  platform: AdPlatform,
  { adAccountId, target, before }: Pick<Action, 'adAccountId' | 'target' | 'before'>,
): Promise<EntityState | null> {
  const [found = null] = await platform.readEntities(transaction, adAccountId, [target])
  return isUnchanged(before, found) ? found : null
}
