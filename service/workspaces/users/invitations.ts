import { randomUUID } from 'node:crypto'
import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import { canGrantRole, DECIDING_ROLES, invitableRoles } from '@signalbox/contract/session/roles.ts'
import { InvitationSubmission } from '@signalbox/contract/session/users.ts'
import type { AuditDetails, AuditEntry } from '../../audit/audit-entry.ts'
import { commitAudited } from '../../audit/audit-store.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { type ListPage, toListPage } from '../../runtime/util/list-page.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { limitInvitations } from './attempt-limits.ts'
import {
  closeInvitation,
  findInvitation,
  type Invitation,
  listInvitationsByEmail,
  upsertInvitation,
} from './invitation-store.ts'
import { invitationEmail } from './mail/email-templates.ts'
import { requireRecentAuthentication } from './reauthentication.ts'
import { grantRole } from './role-store.ts'
import type { CurrentUser } from './session-store.ts'
import { EMAIL_ERROR, parseEmailAddress, ROLE_ERROR } from './user-input.ts'
import type { UsersContext } from './users-context.ts'
import { insertMember, isMemberEmail, lockMembers } from './workspace-store.ts'
import { createMemberEntry, requireRole, requireVerifiedEmail, userActor } from './workspaces.ts'

const INVITATION_DAYS = 7

const invitationValidator = new Validator(InvitationSubmission, {
  members: {
    email: { error: EMAIL_ERROR, parse: parseEmailAddress },
    role: { error: ROLE_ERROR },
  },
})

/** Not validated. */
interface InvitationInput {
  workspaceId: unknown
  body: unknown
}

/**
 * Emails an invitation to an address, or renews the pending one. The role may not exceed the role
 * of the inviter. Throws a 403, 404, 422 or 429. Returns the ID of the invitation.
 */
export async function inviteMember(
  context: UsersContext,
  user: CurrentUser,
  input: InvitationInput,
): Promise<string> {
  const { database, now, mailer, publicOrigin } = context
  const membership = await requireRole(database, user, {
    workspaceId: input.workspaceId,
    action: 'invite',
  })
  requireVerifiedEmail(user)
  const { workspaceId, workspaceName } = membership
  const { email, role } = invitationValidator.validate(input.body)
  if (!canGrantRole(membership.role, role)) {
    throw new Refusal(403, 'You cannot invite to a role above your own. Ask an owner.')
  }
  if (DECIDING_ROLES.includes(role)) requireRecentAuthentication(user, now())
  if (await isMemberEmail(database, workspaceId, email)) {
    throw Refusal.ofFields({ email: ['Already a member of this workspace.'] })
  }
  limitInvitations(context, { userId: user.userId, workspaceId, email })
  const createdAt = now()
  const id = await commitAudited(context, async (transaction, record) => {
    const invitationId = await upsertInvitation(transaction, {
      id: randomUUID(),
      workspaceId,
      email,
      role,
      replaceableRoles: invitableRoles(membership.role),
      invitedBy: user.userId,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + INVITATION_DAYS * DAY_MILLISECONDS),
    })
    if (invitationId === null) throw invitationAboveOwnRole()
    const change = { action: 'invitation.created', at: createdAt, details: { role } } as const
    record(createInvitationEntry(user, { workspaceId, id: invitationId }, change))
    return invitationId
  })
  mailer.send(
    invitationEmail(publicOrigin(), { id, email, role, workspaceName, inviterName: user.name }),
  )
  return id
}

interface InvitationReference {
  workspaceId: unknown
  invitationId: unknown
}

/** Withdraws a pending invitation to a role that the user may grant. Throws a 403 or 404. */
export async function withdrawInvitation(
  context: UsersContext,
  user: CurrentUser,
  { invitationId, ...path }: InvitationReference,
): Promise<void> {
  const { database } = context
  const at = context.now()
  const intent = { workspaceId: path.workspaceId, action: 'invite' } as const
  const { workspaceId, role } = await requireRole(database, user, intent)
  const id = parseInvitationId(invitationId)
  const invitation = id === null ? null : await findInvitation(database, id, at)
  if (invitation?.workspaceId !== workspaceId) throw invitationNotFound()
  if (!canGrantRole(role, invitation.role)) throw invitationAboveOwnRole()
  await commitAudited(context, async (transaction, record) => {
    if (!(await closeInvitation(transaction, invitation.id, 'withdrawn'))) return
    const change = {
      action: 'invitation.withdrawn',
      at,
      details: { role: invitation.role },
    } as const
    record(createInvitationEntry(user, invitation, change))
  })
}

/** A page of the pending invitations to a user; empty until the address is verified. */
export async function listOwnInvitations(
  { database, now }: UsersContext,
  { email, isEmailVerified }: CurrentUser,
  page: number,
): Promise<ListPage<Invitation>> {
  if (!isEmailVerified) return toListPage([], page)
  return listInvitationsByEmail(database, email, { at: now(), page })
}

/**
 * Returns an invitation to its recipient, whose address must be verified. Throws a 404 for
 * everyone else.
 */
export async function readInvitation(
  { database, now }: UsersContext,
  user: CurrentUser,
  invitationId: unknown,
): Promise<Invitation> {
  const id = parseInvitationId(invitationId)
  const invitation = id === null ? null : await findInvitation(database, id, now())
  const isTheirs = user.isEmailVerified && invitation?.email === user.email
  if (!invitation || !isTheirs) throw invitationNotFound()
  return invitation
}

const ACCEPTED = 'invitation_accepted'

/**
 * Accepts or declines. Only one of two concurrent answers counts. An invited owner or administrator
 * is a member until the role is confirmed or 72 hours have passed. Returns the workspace ID.
 */
export async function answerInvitation(
  context: UsersContext,
  user: CurrentUser,
  { invitationId, answer }: { invitationId: unknown; answer: 'accepted' | 'declined' },
): Promise<number> {
  const { id, workspaceId } = await readInvitation(context, user, invitationId)
  const createdAt = context.now()
  await commitAudited(context, async ({ query }, record) => {
    // Under the lock, because the inviter may lose the role in the meantime.
    await lockMembers({ query }, workspaceId)
    const invitation = await findInvitation({ query }, id, createdAt)
    if (!invitation || !(await closeInvitation({ query }, id, answer))) throw invitationNotFound()
    const { role } = invitation
    if (answer === 'declined') {
      const change = { action: 'invitation.declined', at: createdAt, details: { role } } as const
      return record(createInvitationEntry(user, { workspaceId, id }, change))
    }
    const member = { workspaceId, userId: user.userId }
    const waits = DECIDING_ROLES.includes(role)
    const firstRole = waits ? 'member' : role
    const isNew = await insertMember({ query }, { ...member, role: firstRole, createdAt })
    const grant = { role, grantedBy: invitation.invitedBy, grantedAt: createdAt }
    if (waits && isNew) await grantRole({ query }, member, grant)
    const granted = waits ? { granted_role: role } : {}
    const details = { role: firstRole, ...granted, reason: ACCEPTED, invitation_id: id }
    record(createMemberEntry(user, member, { action: 'member.added', at: createdAt, details }))
  })
  return workspaceId
}

interface InvitationChange {
  action: Extract<AuditAction, `invitation.${string}`>
  at: Date
  details: AuditDetails
}

/** Names the invitation by its ID: an entry is never deleted, so it holds no address. */
function createInvitationEntry(
  user: CurrentUser,
  { workspaceId, id }: Pick<Invitation, 'workspaceId' | 'id'>,
  change: InvitationChange,
): AuditEntry {
  const subject = { type: 'invitation', id } as const
  return { workspaceId, actor: userActor(user), subject, ...change }
}

function invitationAboveOwnRole(): Refusal {
  return new Refusal(403, 'This invitation is to a role above your own. Ask an owner.')
}

function invitationNotFound(): Refusal {
  return Refusal.notFound(
    'Invitation not found. It is for another address, was answered or withdrawn, or has expired. ' +
      'Ask an owner of the workspace for another one.',
  )
}

function parseInvitationId(input: unknown): string | null {
  const text = String(input)
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : null
}
