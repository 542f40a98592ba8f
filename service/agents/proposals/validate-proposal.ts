import {
  ACTIONS_MAX,
  DryRunSubmission,
  ProposalSubmission,
} from '@signalbox/contract/agents/proposals.ts'
import { compileBodySchema, type SchemaValidator } from '../../http/body-schema.ts'
import { addSchemaErrors, addTextError, FieldErrorList } from '../../http/field-errors.ts'
import { Refusal } from '../../http/refusal.ts'

const checkProposal = compileBodySchema(ProposalSubmission)
const checkDryRun = compileBodySchema(DryRunSubmission)

/**
 * The body of propose-actions, for a credential of one ad account. Throws a 422 refusal with every
 * wrong field; what the ad account and the policy say is not asked here.
 */
export function validateProposal(body: unknown, adAccountId: number): ProposalSubmission {
  return validateBody(checkProposal, body, adAccountId) as ProposalSubmission
}

/** The body of dry_run_actions, in the same way. */
export function validateDryRun(body: unknown, adAccountId: number): DryRunSubmission {
  return validateBody(checkDryRun, body, adAccountId) as DryRunSubmission
}

function validateBody(check: SchemaValidator, body: unknown, adAccountId: number): unknown {
  const given = body ?? {}
  const faults = new FieldErrorList()
  addSchemaErrors(faults, check(given) ?? [])
  if (typeof given === 'object' && !Array.isArray(given)) {
    addProposalErrors(faults, given as Record<string, unknown>, adAccountId)
  }
  if (!faults.isEmpty) throw Refusal.ofFields(faults.toErrors())
  return given
}

type RawBody = Record<string, unknown>

/**
 * Adds what the schema cannot say: rules that join members, and text that no store keeps. Each rule
 * looks only at members of the right type, so that it can run on any body and the caller hears of
 * every wrong field at once.
 */
function addProposalErrors(faults: FieldErrorList, body: RawBody, adAccountId: number): void {
  for (const name of ['rationale', 'idempotency_key']) addBlankTextError(faults, name, body[name])
  const actions = toObjects(body.actions)
  const evidence = toObjects(body.evidence)
  actions.forEach((action, at) => {
    addActionErrors(faults, `actions.${at}`, action)
  })
  addDuplicateEntityErrors(faults, actions)
  evidence.forEach((item, at) => {
    addEvidenceErrors(faults, `evidence.${at}`, { item, actionCount: actions.length })
  })
  if (Number.isInteger(body.account_id) && body.account_id !== adAccountId) {
    faults.add('account_id', ACCOUNT_MISMATCH)
  }
}

/** To whoever names an ad account that the credential is not for (spec: Authentication, rule 4). */
export const ACCOUNT_MISMATCH =
  'The account_id field must be the ad account of this credential; leave it out.'

/** Blank words say nothing to the person who decides. */
function addBlankTextError(faults: FieldErrorList, field: string, text: unknown): void {
  addTextError(faults, field, text)
  if (typeof text !== 'string' || text === '' || text.trim() !== '') return
  faults.add(field, `The ${field} field must not be empty.`)
}

function addActionErrors(faults: FieldErrorList, path: string, action: RawBody): void {
  const { type, params } = action
  addBlankTextError(faults, `${path}.rationale`, action.rationale)
  if (isObject(action.target_entity)) {
    addTextError(faults, `${path}.target_entity.name`, action.target_entity.name)
  }
  if (!isObject(params)) return
  const field = `${path}.params.new_daily_budget_minor`
  const isGiven = params.new_daily_budget_minor !== undefined
  const movesBudget = type === 'increase_budget' || type === 'decrease_budget'
  if (movesBudget && !isGiven) faults.add(field, `The ${field} field is required for ${type}.`)
  if ((type === 'pause' || type === 'resume') && isGiven) {
    faults.add(field, `The ${field} field must be left out for ${type}.`)
  }
}

/** Two changes of one entity in one proposal could only be judged against each other. */
function addDuplicateEntityErrors(faults: FieldErrorList, actions: readonly RawBody[]): void {
  const seen = new Set<string>()
  actions.forEach(({ target_entity: target }, at) => {
    if (!isObject(target) || typeof target.type !== 'string' || typeof target.id !== 'string') {
      return
    }
    const entity = `${target.type} ${target.id}`
    const field = `actions.${at}.target_entity`
    if (seen.has(entity)) {
      faults.add(field, `The ${field} field names an entity that an action before it names.`)
    }
    seen.add(entity)
  })
}

function addEvidenceErrors(
  faults: FieldErrorList,
  path: string,
  { item, actionCount }: { item: RawBody; actionCount: number },
): void {
  const { fields_used, action_index: index } = item
  if (Array.isArray(fields_used)) {
    fields_used.forEach((text, at) => {
      addTextError(faults, `${path}.fields_used.${at}`, text)
    })
  }
  const isIndex = typeof index === 'number' && index >= 0 && index < ACTIONS_MAX
  if (!isIndex || index < actionCount) return
  const field = `${path}.action_index`
  faults.add(field, `The ${field} field names no action of this proposal; the first one is 0.`)
}

/** What is no object stays in its place, so that the others keep their numbers. */
function toObjects(list: unknown): RawBody[] {
  return Array.isArray(list) ? list.map(item => (isObject(item) ? item : {})) : []
}

function isObject(value: unknown): value is RawBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
