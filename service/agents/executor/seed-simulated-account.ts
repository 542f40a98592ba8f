import type { Transaction } from '../../db/database.ts'
import { insertSimulatedEntities } from './seed-store.ts'
import { type SimulatedAccount, simulatedEntities } from './simulated-entities.ts'

/**
 * Gives an ad account its simulated campaigns, in the transaction that makes the account or later.
 * An account that has some keeps them as they are. Returns whether they were made by this call.
 */
export function seedSimulatedAccount(
  transaction: Transaction,
  { at, ...account }: SimulatedAccount & { at: Date },
): Promise<boolean> {
  const entities = simulatedEntities(account)
  return insertSimulatedEntities(transaction, { adAccountId: account.adAccountId, entities, at })
}
