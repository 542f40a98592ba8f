import type { PolicyReason } from '@signalbox/contract/agents/actions.ts'
import {
  VALID_ENTITIES_PER_TYPE_MAX,
  type ValidEntity,
} from '@signalbox/contract/agents/proposals.ts'
import type { CampaignApi, EntityRef } from '../campaigns/campaign-api.ts'
import type { PolicyReasonCode } from '../policy/policy-reasons.ts'

interface EvaluatedTarget {
  target: EntityRef
  reasons: readonly PolicyReason[]
}

interface ValidEntities {
  valid_entities?: ValidEntity[]
}

/**
 * The entities that a caller could have meant, if an action was blocked because the ad account does
 * not have its entity: models copy IDs of eighteen digits, and a list corrects them in the same
 * turn. Lists only entities of this ad account, and nothing if every entity was found.
 */
export async function listValidEntities(
  campaigns: CampaignApi,
  adAccountId: number,
  evaluated: readonly EvaluatedTarget[],
): Promise<ValidEntities> {
  const missing = evaluated.filter(({ reasons }) => reasons.some(isEntityNotFound))
  if (missing.length === 0) return {}
  const valid: ValidEntity[] = []
  for (const type of new Set(missing.map(({ target }) => target.type))) {
    const entities = await campaigns.listEntities(adAccountId, type, VALID_ENTITIES_PER_TYPE_MAX)
    valid.push(...entities.map(({ id, name }) => ({ type, id, name })))
  }
  return { valid_entities: valid }
}

const NOT_FOUND: PolicyReasonCode = 'entity_not_found'

function isEntityNotFound({ code }: PolicyReason): boolean {
  return code === NOT_FOUND
}
