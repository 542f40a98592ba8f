import type { EntityState, EntityType } from '@signalbox/contract/agents/actions.ts'
import type { Transaction } from '../../db/database.ts'

export interface EntityRef {
  type: EntityType
  /** The platform's ID, in digits. */
  id: string
}

/** A change that applies only to an expected version. */
export interface EntityChange {
  /** The state that was read; the change fails if the version differs. */
  expected: EntityState
  desired: EntityState
  at: Date
}

/**
 * The ad platform as agents need it. The only implementation is simulated and uses our database
 * (service/agents/executor/).
 */
export interface AdPlatform {
  /** Current entities in the requested order, without those that do not exist. */
  readEntities(
    transaction: Transaction,
    adAccountId: number,
    refs: readonly EntityRef[],
  ): Promise<EntityState[]>
  /** False if the entity is no longer as expected; nothing is changed then. */
  changeEntity(
    transaction: Transaction,
    adAccountId: number,
    change: EntityChange,
  ): Promise<boolean>
}

export function findEntity(
  entities: readonly EntityState[],
  { type, id }: EntityRef,
): EntityState | null {
  return entities.find(entity => entity.type === type && entity.id === id) ?? null
}
