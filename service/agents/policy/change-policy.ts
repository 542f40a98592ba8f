import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import { AMOUNT_LIMITS } from '@signalbox/contract/agents/amounts.ts'
import {
  type ActionPolicy,
  type PolicyLimits,
  type PolicyLimitsSubmission,
  PolicySubmission,
} from '@signalbox/contract/agents/policy.ts'
import { isCurrencyCode } from '@signalbox/contract/currencies.ts'
import type { AuditDetails, AuditEntry } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { FieldErrorList, Validator } from '../../runtime/http/validator.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { plainName } from '../../runtime/util/plain-name.ts'
import { formatDateTime, HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import {
  raiseNotification,
  withdrawNotifications,
} from '../../workspaces/notifications/notification-store.ts'
import { requireRecentAuthentication } from '../../workspaces/users/reauthentication.ts'
import { couldAnotherDecide } from '../../workspaces/users/role-standing.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { requireRole, requireRoleUnderLock, userActor } from '../../workspaces/users/workspaces.ts'
import { combineStricter, isLooser } from './compare-policies.ts'
import { NO_AMOUNT_LIMITS } from './money-limits.ts'
import {
  insertPolicyVersion,
  lockPolicyForChange,
  nextPolicyVersion,
  type PendingPolicy,
  type PolicyState,
  readPolicyState,
  savePolicy,
} from './policy-store.ts'

export interface PolicyContext extends AuditedContext {
  now: () => Date
  settings: Pick<Settings, 'policyWaitHours'>
}

/** The user and the unparsed workspace ID of a request. */
export interface PolicyRequest {
  user: CurrentUser
  workspaceId: unknown
}

const policyValidator = new Validator(PolicySubmission)

/**
 * Replaces the policy of a workspace and appends an audit entry. What permits less applies at once.
 * What permits more needs a confirmed identity and waits (SIGNALBOX_POLICY_WAIT_HOURS), unless
 * nobody else could decide within the last 72 hours. A change replaces one that waits. Throws a
 * Refusal: 403, 404, 422 with every invalid field, or 409 if the submitted version is outdated.
 */
export async function changePolicy(
  context: PolicyContext,
  { user, workspaceId: given }: PolicyRequest,
  body: unknown,
): Promise<PolicyState> {
  const intent = { workspaceId: given, action: 'change_policy' } as const
  const { workspaceId } = await requireRole(context.database, user, intent)
  const submission = parseSubmission(body)
  const change = { workspaceId, submission, user }
  return commitAudited(context, async (transaction, record) => {
    const { before, ...state } = await replacePolicy(transaction, context, change)
    const { policy, pending, at } = state
    const details = {
      before: toAuditedPolicy(before),
      after: toAuditedPolicy(policy),
      ...(pending && { pending: toAuditedPending(pending) }),
    }
    record(policyEntry(user, { workspaceId, at, action: 'policy.changed', details }))
    return { policy, pending }
  })
}

/** The audit entry of what a user did to the policy. */
export function policyEntry(
  user: CurrentUser,
  entry: Pick<AuditEntry, 'workspaceId' | 'at' | 'action'> & { details: AuditDetails },
): AuditEntry {
  const subject = { type: 'policy', id: String(entry.workspaceId) } as const
  return { ...entry, actor: userActor(user), subject }
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
  user: CurrentUser
  submission: PolicySubmission
}

async function replacePolicy(
  transaction: Transaction,
  { now, settings }: PolicyContext,
  { workspaceId, user, submission }: PolicyChangeInput,
): Promise<PolicyState & { before: ActionPolicy; at: Date }> {
  await lockPolicyForChange(transaction, workspaceId)
  await requireRoleUnderLock(transaction, { workspaceId, userId: user.userId }, 'change_policy')
  const at = now()
  const { policy: before, pending: replaced } = await readPolicyState(transaction, workspaceId, at)
  if (before.version !== submission.version) throw policyConflict()
  const { execution_mode } = submission
  const after = { execution_mode, limits: normalizeLimits(submission.limits, before.limits) }
  const member = { workspaceId, userId: user.userId, at }
  const waits = isLooser(before, after)
  if (waits) requireRecentAuthentication(user, at)
  const mustWait = waits && (await couldAnotherDecide(transaction, member)) !== null
  const version = await nextPolicyVersion(transaction, workspaceId, before.version)
  const valid = { version, ...(mustWait ? combineStricter(before, after) : after) }
  const saved = { workspaceId, changedBy: user.userId, changedAt: at }
  await savePolicy(transaction, { ...saved, ...valid })
  if (replaced) await withdrawPendingNotice(transaction, workspaceId)
  const policy = { ...valid, changed_at: at.toISOString() }
  if (!mustWait) {
    const type = 'policy.loosened'
    if (waits) await notifyOwners(transaction, { workspaceId, user, type, at })
    return { before, policy, pending: null, at }
  }
  const validFrom = new Date(at.getTime() + settings.policyWaitHours * HOUR_MILLISECONDS)
  const pending = { ...after, version: version + 1, validFrom, ...saved }
  await insertPolicyVersion(transaction, { ...pending, baseVersion: version })
  await notifyOwners(transaction, { workspaceId, user, type: PENDING, at, validFrom })
  return { before, policy, pending, at }
}

const PENDING = 'policy.loosening_pending'

interface OwnerNotice {
  workspaceId: number
  /** Who did it; null if the one who saved it is no longer an owner. */
  user: CurrentUser | null
  type: 'policy.loosening_pending' | 'policy.loosened' | 'policy.loosening_canceled'
  at: Date
  validFrom?: Date
}

/** Tells every owner at once, also the one who did it: another person may have the session. */
export async function notifyOwners(
  transaction: Transaction,
  { workspaceId, user, type, at, validFrom = at }: OwnerNotice,
): Promise<void> {
  const name = user && plainName(user.name)
  const texts: Record<OwnerNotice['type'], string> = {
    'policy.loosening_pending':
      `${name} saved a policy that permits agents more. It becomes valid ` +
      `${formatDateTime(validFrom)}, unless an owner cancels it.`,
    'policy.loosened': `The policy permits agents more from now on: ${name} saved or confirmed it.`,
    'policy.loosening_canceled': name
      ? `${name} canceled the policy that would permit agents more.`
      : 'The policy that would permit agents more was canceled: the person who saved it is no ' +
        'longer an owner.',
  }
  await raiseNotification(transaction, {
    workspaceId,
    topic: 'policy',
    type,
    recipients: { permission: 'change_policy', userId: null },
    subject: toSubject(workspaceId),
    text: texts[type],
    path: `/w/${workspaceId}/policy`,
    at,
  })
}

/** What no longer waits is not announced any more. */
export function withdrawPendingNotice(
  transaction: Transaction,
  workspaceId: number,
): Promise<void> {
  const subject = toSubject(workspaceId)
  return withdrawNotifications(transaction, { workspaceId, type: PENDING, subject })
}

function toSubject(workspaceId: number) {
  return { type: 'policy', id: String(workspaceId) }
}

/**
 * Sorts types and currencies, so that equal sets are equal lists. Optional limits stay as they are
 * if they are omitted.
 */
function normalizeLimits(limits: PolicyLimitsSubmission, before: PolicyLimits): PolicyLimits {
  const { allowed_types, currency_limits = [] } = limits
  return {
    ...before,
    ...limits,
    allowed_types: ACTION_TYPES.filter(type => allowed_types.includes(type)),
    currency_limits: currency_limits
      .map(own => {
        const earlier = before.currency_limits.find(({ currency }) => currency === own.currency)
        return { ...NO_AMOUNT_LIMITS, ...earlier, ...own }
      })
      .filter(own => AMOUNT_LIMITS.some(member => own[member] !== null))
      .toSorted((one, other) => (one.currency < other.currency ? -1 : 1)),
  }
}

export function toAuditedPolicy({
  version,
  execution_mode,
  limits,
}: Pick<ActionPolicy, 'version' | 'execution_mode' | 'limits'>) {
  return { version, execution_mode, limits }
}

function toAuditedPending(pending: PendingPolicy) {
  return { ...toAuditedPolicy(pending), valid_from: pending.validFrom.toISOString() }
}

function policyConflict(): Refusal {
  return new Refusal(
    409,
    'The policy changed after you loaded it. Load it again and repeat your change.',
  )
}
