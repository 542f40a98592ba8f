import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import { type ActionPolicy, PolicySubmission } from '@signalbox/contract/agents/policy.ts'
import type { AuditTrail } from '../../audit/audit-store.ts'
import type { Database, Transaction } from '../../db/database.ts'
import { createBodyValidator } from '../../http/body-schema.ts'
import { Refusal } from '../../http/refusal.ts'
import type { CurrentPerson } from '../../people/session-store.ts'
import { requireRole } from '../../people/workspaces.ts'
import { lockPolicyForChange, readPolicy, savePolicy } from './policy-store.ts'

export interface PolicyContext {
  database: Database
  now: () => Date
  audit: AuditTrail
}

/** Who asks, and where; the workspace may come from a path. */
export interface PolicyRequest {
  person: CurrentPerson
  workspaceId: unknown
}

const checkBody = createBodyValidator<PolicySubmission>(PolicySubmission)

/**
 * Replaces the policy of a workspace, with its entry in the log. Throws a Refusal: 403, 404, 422
 * with every wrong field, or 409 when the policy that was shown is not the one that holds.
 */
export async function changePolicy(
  context: PolicyContext,
  { person, workspaceId: given }: PolicyRequest,
  body: unknown,
): Promise<ActionPolicy> {
  const intent = { workspaceId: given, action: 'change_policy' } as const
  const { workspaceId } = await requireRole(context.database, person, intent)
  const submission = parseSubmission(body)
  const order = { workspaceId, personId: person.userId, submission }
  return context.database.query
    .transaction()
    .execute(query => replacePolicy({ query }, context, order))
}

function parseSubmission(body: unknown): PolicySubmission {
  const submission = checkBody(body)
  const { quiet_hours } = submission.limits
  if (quiet_hours === null || quiet_hours.from !== quiet_hours.until) return submission
  const sentence = 'The quiet hours end where they begin: choose another minute, or none (null).'
  throw Refusal.ofFields({ 'limits.quiet_hours.until': [sentence] })
}

interface PolicyChangeInput {
  workspaceId: number
  personId: number
  submission: PolicySubmission
}

async function replacePolicy(
  transaction: Transaction,
  { now, audit }: PolicyContext,
  { workspaceId, personId, submission }: PolicyChangeInput,
): Promise<ActionPolicy> {
  await lockPolicyForChange(transaction, workspaceId)
  const before = await readPolicy(transaction, workspaceId)
  if (before.version !== submission.version) throw policyConflict()
  const at = now()
  const after = {
    ...submission,
    limits: sortAllowedTypes(submission.limits),
    version: before.version + 1,
  }
  await savePolicy(transaction, { ...after, workspaceId, changedBy: personId, changedAt: at })
  await audit.append(transaction, {
    ...{ workspaceId, at, action: 'policy.changed' },
    actor: { type: 'person', id: String(personId) },
    subject: { type: 'policy', id: String(workspaceId) },
    details: { before: toAuditedPolicy(before), after: toAuditedPolicy(after) },
  })
  return { ...after, changed_at: at.toISOString() }
}

/** The same types are the same list. */
function sortAllowedTypes(limits: PolicySubmission['limits']): PolicySubmission['limits'] {
  const { allowed_types } = limits
  return { ...limits, allowed_types: ACTION_TYPES.filter(type => allowed_types.includes(type)) }
}

function toAuditedPolicy({ version, execution_mode, limits }: PolicySubmission) {
  return { version, execution_mode, limits }
}

function policyConflict(): Refusal {
  return new Refusal(
    409,
    'Somebody changed the policy since it was shown to you: read it again and repeat your change.',
  )
}
