import type { EntityState, EntityType } from '@signalbox/contract/agents/actions.ts'

export interface EntityRef {
  type: EntityType
  /** The platform's ID, in digits. */
  id: string
}

/** A change that applies only to an expected version. */
export interface EntityChange {
  /** The idempotency key: a repeat with the same key never changes the entity again. */
  key: string
  /** The state that was read; the change fails if the version differs. */
  expected: EntityState
  desired: EntityState
  at: Date
}

/**
 * The ad platform as agents need it. Its methods take no transaction and must not be called inside
 * one: a platform answers over the network, and row locks must not wait for it
 * (docs/decisions/0028). The only implementation is simulated and uses our database
 * (service/agents/executor/).
 */
export interface CampaignApi {
  /** Current entities in the requested order, without those that do not exist. */
  readEntities(adAccountId: number, refs: readonly EntityRef[]): Promise<EntityState[]>
  /** The first entities of one type, by ID. */
  listEntities(adAccountId: number, type: EntityType, limit: number): Promise<EntityState[]>
  /**
   * An entity with its ancestors and everything else below its campaign; all of the ad account for
   * the ad account itself. Null if there are more than the platform can list at once.
   */
  readRelatedEntities(adAccountId: number, ref: EntityRef): Promise<EntityState[] | null>
  /**
   * The state right after the change, also for a repeat with the same key while the entity still
   * has that state. Null if the entity is no longer as expected; nothing is changed then.
   */
  changeEntity(adAccountId: number, change: EntityChange): Promise<EntityState | null>
}

export function findEntity(
  entities: readonly EntityState[],
  { type, id }: EntityRef,
): EntityState | null {
  return entities.find(entity => entity.type === type && entity.id === id) ?? null
}
