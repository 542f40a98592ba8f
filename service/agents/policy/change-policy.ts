import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import {
  type ActionPolicy,
  type PolicyLimits,
  PolicySubmission,
} from '@signalbox/contract/agents/policy.ts'
import { isCurrencyCode } from '@signalbox/contract/currencies.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { FieldErrorList, Validator } from '../../runtime/http/validator.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { requireRole, userActor } from '../../workspaces/users/workspaces.ts'
import { lockPolicyForChange, readPolicy, savePolicy } from './policy-store.ts'

export interface PolicyContext extends AuditedContext {
  now: () => Date
}

/** The user and the unparsed workspace ID of a request. */
export interface PolicyRequest {
  user: CurrentUser
  workspaceId: unknown
}

const policyValidator = new Validator(PolicySubmission)

/**
 * Replaces the policy of a workspace and appends an audit entry. Throws a Refusal: 403, 404, 422
 * with every invalid field, or 409 if the submitted version is outdated.
 */
export async function changePolicy(
  context: PolicyContext,
  { user, workspaceId: given }: PolicyRequest,
  body: unknown,
): Promise<ActionPolicy> {
  const intent = { workspaceId: given, action: 'change_policy' } as const
  const { workspaceId } = await requireRole(context.database, user, intent)
  const submission = parseSubmission(body)
  const change = { workspaceId, submission, changedBy: user.userId }
  return commitAudited(context, async (transaction, record) => {
    const { before, after, at } = await replacePolicy(transaction, context.now, change)
    record({
      workspaceId,
      at,
      action: 'policy.changed',
      actor: userActor(user),
      subject: { type: 'policy', id: String(workspaceId) },
      details: { before: toAuditedPolicy(before), after: toAuditedPolicy(after) },
    })
    return { ...after, changed_at: at.toISOString() }
  })
}

function parseSubmission(body: unknown): PolicySubmission {
  const submission = policyValidator.validate(body)
  const errors = new FieldErrorList()
  const { quiet_hours, currency_limits = [] } = submission.limits
  if (quiet_hours !== null && quiet_hours.from === quiet_hours.until) {
    errors.add('limits.quiet_hours.until', QUIET_HOURS_EMPTY)
  }
  currency_limits.forEach(({ currency }, index) => {
    const field = `limits.currency_limits.${index}.currency`
    const isRepeated = currency_limits.findIndex(other => other.currency === currency) < index
    if (isRepeated) errors.add(field, `The ${field} field repeats an earlier currency.`)
    if (!isCurrencyCode(currency)) errors.add(field, `The ${field} field must be an ISO 4217 code.`)
  })
  if (!errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
  return submission
}

const QUIET_HOURS_EMPTY =
  'The quiet hours must end at another time than they start, or be null for none.'

interface PolicyChangeInput {
  workspaceId: number
  changedBy: number
  submission: PolicySubmission
}

async function replacePolicy(
  transaction: Transaction,
  now: () => Date,
  { workspaceId, changedBy, submission }: PolicyChangeInput,
) {
  await lockPolicyForChange(transaction, workspaceId)
  const before = await readPolicy(transaction, workspaceId)
  if (before.version !== submission.version) throw policyConflict()
  const at = now()
  const after = {
    ...submission,
    limits: normalizeLimits(submission.limits),
    version: before.version + 1,
  }
  await savePolicy(transaction, { ...after, workspaceId, changedBy, changedAt: at })
  return { before, after, at }
}

/** Sorts types and currencies, so that equal sets are equal lists. */
function normalizeLimits(limits: PolicySubmission['limits']): PolicyLimits {
  const { allowed_types, currency_limits = [] } = limits
  return {
    ...limits,
    allowed_types: ACTION_TYPES.filter(type => allowed_types.includes(type)),
    currency_limits: currency_limits
      .filter(own => own.change_minor_max !== null || own.daily_total_minor_max !== null)
      .toSorted((one, other) => (one.currency < other.currency ? -1 : 1)),
  }
}

function toAuditedPolicy({ version, execution_mode, limits }: PolicySubmission) {
  return { version, execution_mode, limits }
}

function policyConflict(): Refusal {
  return new Refusal(
    409,
    'The policy changed after you loaded it. Load it again and repeat your change.',
  )
}
