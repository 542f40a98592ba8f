import {
  PendingPolicyReference,
  type PolicyStateAnswer,
} from '@signalbox/contract/agents/policy.ts'
import { findActorNames } from '../../audit/audit-name-store.ts'
import { commitAudited } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { listAdAccounts } from '../../workspaces/users/ad-account-store.ts'
import { requireRecentAuthentication } from '../../workspaces/users/reauthentication.ts'
import type { RoleLossListener } from '../../workspaces/users/role-loss.ts'
import { findConfirmationDenial, hasPermissionNow } from '../../workspaces/users/role-standing.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { requireRole, requireRoleUnderLock, userActor } from '../../workspaces/users/workspaces.ts'
import {
  notifyOwners,
  type PolicyContext,
  type PolicyRequest,
  policyEntry,
  toAuditedPolicy,
  withdrawPendingNotice,
} from './change-policy.ts'
import {
  lockPolicyForChange,
  type PendingPolicy,
  type PolicyState,
  readPolicyState,
  recordPolicyCancellation,
  recordPolicyConfirmation,
  savePolicy,
} from './policy-store.ts'

const referenceValidator = new Validator(PendingPolicyReference)

/**
 * Makes the waiting policy valid before its time. Only an owner of at least 72 hours may, whom the
 * person who saved it neither invited nor made an owner. Needs a confirmed identity. Throws a
 * Refusal: 403, 404, 409 if another policy waits or none, or 422.
 */
export async function confirmPendingPolicy(
  context: PolicyContext,
  request: PolicyRequest,
  body: unknown,
): Promise<PolicyState> {
  const { workspaceId, version } = await readReference(context, request, body)
  const { user } = request
  requireRecentAuthentication(user, context.now())
  return commitAudited(context, async (transaction, record) => {
    const scope = { workspaceId, user, version }
    const { at, policy: before, pending } = await lockPendingPolicy(transaction, context, scope)
    const { userId } = user
    const { changedBy, execution_mode, limits } = pending
    const confirmation = { workspaceId, userId, changedBy, at }
    const denial = await findConfirmationDenial(transaction, confirmation)
    if (denial !== null) throw new Refusal(403, denial)
    const after = { version, execution_mode, limits }
    await recordPolicyConfirmation(transaction, { workspaceId, version, userId, at })
    await savePolicy(transaction, { ...after, workspaceId, changedBy, changedAt: at })
    await withdrawPendingNotice(transaction, workspaceId)
    const type = 'policy.loosened'
    await notifyOwners(transaction, { workspaceId, user, type, at })
    const audited = { before: toAuditedPolicy(before), after: toAuditedPolicy(after) }
    const details = { ...audited, confirms: { version, saved_by: changedBy } }
    record(policyEntry(user, { workspaceId, at, action: 'policy.changed', details }))
    return { policy: { ...after, changed_at: at.toISOString() }, pending: null }
  })
}

/**
 * Cancels the waiting policy; any owner may. Throws a Refusal: 403, 404, 409 if another policy
 * waits or none, or 422.
 */
export async function cancelPendingPolicy(
  context: PolicyContext,
  request: PolicyRequest,
  body: unknown,
): Promise<PolicyState> {
  const { workspaceId, version } = await readReference(context, request, body)
  const { user } = request
  return commitAudited(context, async (transaction, record) => {
    const scope = { workspaceId, user, version }
    const { at, policy, pending } = await lockPendingPolicy(transaction, context, scope)
    const { userId } = user
    await recordPolicyCancellation(transaction, { workspaceId, version, userId, at })
    await withdrawPendingNotice(transaction, workspaceId)
    const type = 'policy.loosening_canceled'
    await notifyOwners(transaction, { workspaceId, user, type, at })
    const details = { version, saved_by: pending.changedBy }
    record(policyEntry(user, { workspaceId, at, action: 'policy.change_canceled', details }))
    return { policy, pending: null }
  })
}

/**
 * Cancels the waiting policy of a person who lost the role that may change it, unless it is valid
 * by now. Another owner may save the same policy in their own name.
 */
export const cancelPolicyOfFormerOwner: RoleLossListener = async (transaction, loss) => {
  const { workspaceId, userId, actor, at, record } = loss
  if (await hasPermissionNow(transaction, { workspaceId, userId }, 'change_policy')) return
  const { pending } = await readPolicyState(transaction, workspaceId, at)
  if (pending?.changedBy !== userId) return
  const { version } = pending
  await recordPolicyCancellation(transaction, { workspaceId, version, userId: null, at })
  await withdrawPendingNotice(transaction, workspaceId)
  const type = 'policy.loosening_canceled'
  await notifyOwners(transaction, { workspaceId, user: null, type, at })
  const subject = { type: 'policy', id: String(workspaceId) } as const
  const details = { version, saved_by: userId, reason: 'owner_lost' }
  record({ workspaceId, at, actor, action: 'policy.change_canceled', subject, details })
}

async function readReference(
  { database }: PolicyContext,
  { user, workspaceId: given }: PolicyRequest,
  body: unknown,
): Promise<{ workspaceId: number; version: number }> {
  const intent = { workspaceId: given, action: 'change_policy' } as const
  const { workspaceId } = await requireRole(database, user, intent)
  return { workspaceId, version: referenceValidator.validate(body).version }
}

interface PendingScope {
  workspaceId: number
  user: CurrentUser
  version: number
}

async function lockPendingPolicy(
  transaction: Transaction,
  { now }: PolicyContext,
  { workspaceId, user: { userId }, version }: PendingScope,
): Promise<PolicyState & { pending: PendingPolicy; at: Date }> {
  await lockPolicyForChange(transaction, workspaceId)
  await requireRoleUnderLock(transaction, { workspaceId, userId }, 'change_policy')
  const at = now()
  const { policy, pending } = await readPolicyState(transaction, workspaceId, at)
  if (pending?.version === version) return { policy, pending, at }
  const message =
    'This policy no longer waits: it is valid, was canceled, or another one replaced it. Load ' +
    'the policy again.'
  throw new Refusal(409, message)
}

interface PolicyReader {
  workspaceId: number
  userId: number
}

/** The policy as a member sees it, and whether they may confirm the one that waits. */
export async function readPolicyView(
  { database, now, settings }: Pick<PolicyContext, 'database' | 'now' | 'settings'>,
  { workspaceId, userId }: PolicyReader,
): Promise<PolicyStateAnswer> {
  const at = now()
  const { policy, pending } = await readPolicyState(database, workspaceId, at)
  const accounts = await listAdAccounts(database, workspaceId)
  const active = accounts.filter(({ status }) => status === 'active')
  const currencies = [...new Set(active.map(({ currency }) => currency))]
  const common = { policy, wait_hours: settings.policyWaitHours, currencies }
  if (!pending) return { ...common, pending: null }
  const { version, execution_mode, limits, changedBy } = pending
  const confirmation = { workspaceId, userId, changedBy, at }
  const denial = await findConfirmationDenial(database, confirmation)
  const names = await findActorNames(database, workspaceId, [userActor({ userId: changedBy })])
  return {
    ...common,
    pending: {
      version,
      execution_mode,
      limits,
      valid_from: pending.validFrom.toISOString(),
      saved_at: pending.changedAt.toISOString(),
      saved_by: names.get(`person ${changedBy}`) ?? null,
      may_confirm: denial === null,
      may_not_confirm_reason: denial,
    },
  }
}
