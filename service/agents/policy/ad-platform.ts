import type { EntityState, EntityType } from '@signalbox/contract/agents/actions.ts'
import type { Transaction } from '../../db/database.ts'

export interface EntityRef {
  type: EntityType
  /** The platform's number, in digits. */
  id: string
}

/** One change, bound to the state that was looked at. */
export interface EntityChange {
  /** As it was read; with any other version nothing is changed. */
  expected: EntityState
  /** As it shall be. */
  wanted: EntityState
  at: Date
}

/**
 * What the rooms of agents need of whoever holds the campaigns. The one that there is, is simulated
 * and lives in the store (service/agents/executor/), so that a change and its entry in the audit
 * log are one transaction.
 */
export interface AdPlatform {
  /** Entities as they are now, in the order asked for; those that are not there are left out. */
  readEntities(
    transaction: Transaction,
    adAccountId: number,
    names: readonly EntityRef[],
  ): Promise<EntityState[]>
  /** False: it is not as expected any more, and nothing was changed. */
  changeEntity(
    transaction: Transaction,
    adAccountId: number,
    change: EntityChange,
  ): Promise<boolean>
}
