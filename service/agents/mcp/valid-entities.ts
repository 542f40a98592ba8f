import {
  type ActionSubmission,
  type EntityState,
  EntityType,
} from '@signalbox/contract/agents/actions.ts'
import { DryRunResult, ProposalResult } from '@signalbox/contract/agents/proposals.ts'
import Type, { type TProperties } from 'typebox'
import { objectOrEmpty } from '../../util/is-object.ts'
import { listEntities } from '../executor/ad-entity-store.ts'
import type { AgentsContext } from '../proposals/agents-context.ts'

const ENTITIES_PER_TYPE_MAX = 20

const validEntities = Type.Optional(
  Type.Array(Type.Object({ type: EntityType, id: Type.String(), name: Type.String() }), {
    description:
      'Present if an action names an entity that does not exist: the first ' +
      `${ENTITIES_PER_TYPE_MAX} of its type that do.`,
  }),
)

function withValidEntities<Properties extends TProperties>(properties: Properties) {
  return Type.Object({ ...properties, valid_entities: validEntities })
}

/** Results of tools that take entities. */
export const DryRunOutput = withValidEntities(DryRunResult.properties)
export const ProposalOutput = withValidEntities(ProposalResult.properties)

interface NamedEntities {
  adAccountId: number
  /** Valid arguments: the operation accepted them. */
  input: unknown
}

/**
 * Adds the entities that a model could have meant to a result that says that one does not exist:
 * models copy IDs of eighteen digits, and a list corrects them in the same turn.
 */
export async function addValidEntities<Result extends object>(
  { database, platform }: Pick<AgentsContext, 'database' | 'platform'>,
  { adAccountId, input }: NamedEntities,
  result: Result,
): Promise<Result> {
  const { actions } = objectOrEmpty(input) as { actions: ActionSubmission[] }
  const targets = actions.map(({ target_entity: { type, id } }) => ({ type, id }))
  const found = await platform.readEntities(adAccountId, targets)
  const missing = targets.filter(({ type, id }) => !found.some(isEntity(type, id)))
  if (missing.length === 0) return result
  const valid: Pick<EntityState, 'type' | 'id' | 'name'>[] = []
  for (const type of new Set(missing.map(target => target.type))) {
    const { entities } = await listEntities(database, adAccountId, {
      type,
      perPage: ENTITIES_PER_TYPE_MAX,
    })
    valid.push(...entities.map(({ id, name }) => ({ type, id, name })))
  }
  return { ...result, valid_entities: valid }
}

function isEntity(type: string, id: string) {
  return (entity: EntityState) => entity.type === type && entity.id === id
}
