import { ACTIONS_MAX } from '@signalbox/contract/agents/proposals.ts'
import { addTextFault, type FieldErrorList } from '../../http/field-errors.ts'

type RawBody = Record<string, unknown>

/**
 * Adds what the schema cannot say: rules that join members, and text that no store keeps. Each rule
 * looks only at members of the right type, so that it can run on any body and the caller hears of
 * every wrong field at once.
 */
export function addProposalFaults(
  faults: FieldErrorList,
  body: RawBody,
  adAccountId: number,
): void {
  for (const name of ['rationale', 'idempotency_key']) addWordsFault(faults, name, body[name])
  const actions = objectsOf(body.actions)
  const evidence = objectsOf(body.evidence)
  actions.forEach((action, at) => {
    addActionFaults(faults, `actions.${at}`, action)
  })
  addRepeatedEntities(faults, actions)
  evidence.forEach((item, at) => {
    addEvidenceFaults(faults, `evidence.${at}`, { item, actionCount: actions.length })
  })
  if (Number.isInteger(body.account_id) && body.account_id !== adAccountId) {
    faults.add('account_id', FOREIGN_ACCOUNT)
  }
}

/** To whoever names an ad account that the credential is not for (spec: Authentication, rule 4). */
export const FOREIGN_ACCOUNT =
  'The account_id field must be the ad account of this credential; leave it out.'

/** Blank words say nothing to the person who decides. */
function addWordsFault(faults: FieldErrorList, field: string, text: unknown): void {
  addTextFault(faults, field, text)
  if (typeof text !== 'string' || text === '' || text.trim() !== '') return
  faults.add(field, `The ${field} field must not be empty.`)
}

function addActionFaults(faults: FieldErrorList, path: string, action: RawBody): void {
  const { type, params } = action
  addWordsFault(faults, `${path}.rationale`, action.rationale)
  if (isObject(action.target_entity)) {
    addTextFault(faults, `${path}.target_entity.name`, action.target_entity.name)
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
function addRepeatedEntities(faults: FieldErrorList, actions: readonly RawBody[]): void {
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

function addEvidenceFaults(
  faults: FieldErrorList,
  path: string,
  { item, actionCount }: { item: RawBody; actionCount: number },
): void {
  const { fields_used, action_index: index } = item
  if (Array.isArray(fields_used)) {
    fields_used.forEach((text, at) => {
      addTextFault(faults, `${path}.fields_used.${at}`, text)
    })
  }
  const isIndex = typeof index === 'number' && index >= 0 && index < ACTIONS_MAX
  if (!isIndex || index < actionCount) return
  const field = `${path}.action_index`
  faults.add(field, `The ${field} field names no action of this proposal; the first one is 0.`)
}

/** What is no object stays in its place, so that the others keep their numbers. */
function objectsOf(list: unknown): RawBody[] {
  return Array.isArray(list) ? list.map(item => (isObject(item) ? item : {})) : []
}

function isObject(value: unknown): value is RawBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
