import { ACTIONS_MAX, type PolicyReason } from '@signalbox/contract/agents/actions.ts'
import {
  DryRunSubmission,
  ProposalSubmission,
  VALID_ENTITIES_PER_TYPE_MAX,
  type ValidEntity,
} from '@signalbox/contract/agents/proposals.ts'
import {
  addTextError,
  type FieldErrorList,
  type Validation,
  Validator,
} from '../../runtime/http/validator.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import type { CampaignApi, EntityRef } from '../campaigns/campaign-api.ts'
import type { PolicyReasonCode } from '../policy/policy-reasons.ts'

const proposalValidator = new Validator(ProposalSubmission, { nullIsAbsent: true })
const dryRunValidator = new Validator(DryRunSubmission, { nullIsAbsent: true })

/**
 * Validates the body of propose-actions for a credential of one ad account. Throws a 422 refusal
 * with every invalid field. Does not check entities or the policy.
 */
export function validateProposal(body: unknown, adAccountId: number): ProposalSubmission {
  const validation = proposalValidator.begin(dropIgnoredBudgets(body).body)
  addProposalErrors(validation, adAccountId)
  return validation.finish()
}

/** Validates the body of dry_run_actions in the same way. */
export function validateDryRun(body: unknown, adAccountId: number): DryRunSubmission {
  const validation = dryRunValidator.begin(dropIgnoredBudgets(body).body)
  addProposalErrors(validation, adAccountId)
  return validation.finish()
}

interface Notes {
  notes?: string[]
}

/** What a proposal or dry run ignored, one sentence each; absent if nothing was. */
export function describeIgnored(body: unknown): Notes {
  const { notes } = dropIgnoredBudgets(body)
  return notes.length > 0 ? { notes } : {}
}

/**
 * Drops the budget beside a pause or a resume, whatever it is: strict converters of tool schemas
 * make a model fill every member. Idempotency compares what is left.
 */
function dropIgnoredBudgets(body: unknown): { body: unknown; notes: string[] } {
  const notes: string[] = []
  if (!isObject(body) || !Array.isArray(body.actions)) return { body, notes }
  const actions = body.actions.map((action: unknown, index) => {
    if (!isObject(action) || !isObject(action.params)) return action
    const { type } = action
    const { new_daily_budget_minor: budget, ...params } = action.params
    if ((type !== 'pause' && type !== 'resume') || budget === undefined) return action
    const field = `actions.${index}.params.new_daily_budget_minor`
    if (budget !== null) notes.push(`${field} was ignored: a ${type} does not change the budget.`)
    return { ...action, params }
  })
  return { body: { ...body, actions }, notes }
}

/**
 * Adds errors that a schema cannot express: rules across members, and text that PostgreSQL cannot
 * store. Each rule skips members of the wrong type, so that one response names every invalid field.
 */
function addProposalErrors(
  { errors, input: body }: Pick<Validation<unknown>, 'errors' | 'input'>,
  adAccountId: number,
): void {
  for (const name of ['rationale', 'idempotency_key']) addBlankTextError(errors, name, body[name])
  const actions = toObjects(body.actions)
  const evidence = toObjects(body.evidence)
  actions.forEach((action, index) => {
    addActionErrors(errors, `actions.${index}`, action)
  })
  addDuplicateEntityErrors(errors, actions)
  evidence.forEach((item, index) => {
    addEvidenceErrors(errors, `evidence.${index}`, { item, actionCount: actions.length })
  })
  if (Number.isInteger(body.account_id) && body.account_id !== adAccountId) {
    errors.add('account_id', ACCOUNT_MISMATCH)
  }
}

export const ACCOUNT_MISMATCH =
  'The account_id field must be the ad account of this credential; omit it.'

/** Rejects text of whitespace alone. */
function addBlankTextError(errors: FieldErrorList, field: string, text: unknown): void {
  addTextError(errors, field, text, { isOneLine: false })
  if (typeof text !== 'string' || text === '' || text.trim() !== '') return
  errors.add(field, `The ${field} field must not be empty.`)
}

function addActionErrors(errors: FieldErrorList, path: string, action: UntrustedObject): void {
  const { type, params } = action
  addBlankTextError(errors, `${path}.rationale`, action.rationale)
  if (isObject(action.target_entity)) {
    const { name } = action.target_entity
    // Names come from the ad platform, and pages show every character of them.
    addTextError(errors, `${path}.target_entity.name`, name, { isOneLine: false })
  }
  if (!isObject(params)) return
  const field = `${path}.params.new_daily_budget_minor`
  const isGiven = params.new_daily_budget_minor !== undefined
  const movesBudget = type === 'increase_budget' || type === 'decrease_budget'
  if (movesBudget && !isGiven) errors.add(field, `The ${field} field is required for ${type}.`)
}

/** The evaluation of an action uses the current entity, so one proposal changes an entity once. */
function addDuplicateEntityErrors(
  errors: FieldErrorList,
  actions: readonly UntrustedObject[],
): void {
  const seen = new Set<string>()
  actions.forEach(({ target_entity: target }, index) => {
    if (!isObject(target) || typeof target.type !== 'string' || typeof target.id !== 'string')
      return
    const entity = `${target.type} ${target.id}`
    const field = `actions.${index}.target_entity`
    if (seen.has(entity)) {
      errors.add(
        field,
        `The ${field} field names the entity of an earlier action; propose one change per entity.`,
      )
    }
    seen.add(entity)
  })
}

function addEvidenceErrors(
  errors: FieldErrorList,
  path: string,
  { item, actionCount }: { item: UntrustedObject; actionCount: number },
): void {
  const { fields_used, action_index: index } = item
  if (Array.isArray(fields_used)) {
    fields_used.forEach((text, position) => {
      addTextError(errors, `${path}.fields_used.${position}`, text, { isOneLine: false })
    })
  }
  const isIndex = typeof index === 'number' && index >= 0 && index < ACTIONS_MAX
  if (!isIndex || index < actionCount) return
  const field = `${path}.action_index`
  errors.add(field, `The ${field} field names no action of this proposal; the first action is 0.`)
}

/** Keeps the positions of items that are not objects. */
function toObjects(list: unknown): UntrustedObject[] {
  return Array.isArray(list) ? list.map(item => (isObject(item) ? item : {})) : []
}

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
