import { randomUUID } from 'node:crypto'
import { FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { parseEmailAddress } from './account-fields.ts'
import {
  closeInvitation,
  findInvitation,
  type Invitation,
  upsertInvitation,
} from './invitation-store.ts'
import { invitationEmail } from './mail/email-templates.ts'
import { limitAccountAttempts, type PeopleContext } from './people-context.ts'
import type { CurrentPerson } from './session-store.ts'
import { canGrantRole, isWorkspaceRole } from './workspace-role.ts'
import { insertMember, listMembers } from './workspace-store.ts'
import { requireRole } from './workspaces.ts'

const INVITATION_DAYS = 7

export interface InvitationInput {
  workspaceId: unknown
  email: unknown
  role: unknown
}

/**
 * Invites an address, or renews the invitation that waits, and mails it. Nobody invites to a role
 * above their own. Throws a 403, 404, 422 or 429. Returns its id.
 */
export async function invitePerson(
  context: PeopleContext,
  person: CurrentPerson,
  { workspaceId: given, ...request }: InvitationInput,
): Promise<string> {
  const { database, now, mailer: mails, publicOrigin } = context
  const intent = { workspaceId: given, action: 'invite' } as const
  const { workspaceId, workspaceName, role: own } = await requireRole(database, person, intent)
  const faults = new FieldErrorList()
  const email = parseEmailAddress(request.email)
  const { role } = request
  if (email === null) faults.add('email', 'Write a mail address such as ada@example.com.')
  if (!isWorkspaceRole(role)) faults.add('role', 'Choose a role from the list.')
  if (email === null || !isWorkspaceRole(role)) throw Refusal.ofFields(faults.toErrors())
  if (!canGrantRole(own, role)) {
    throw new Refusal(403, 'You cannot invite to a role above your own; ask an owner.')
  }
  const members = await listMembers(database, workspaceId)
  if (members.some(member => member.email === email)) {
    throw Refusal.ofFields({ email: ['They belong to this workspace already.'] })
  }
  limitAccountAttempts(context, `invitation ${email}`)
  const createdAt = now()
  const id = await upsertInvitation(database, {
    ...{ id: randomUUID(), workspaceId, email, role, createdAt },
    invitedBy: person.userId,
    expiresAt: new Date(createdAt.getTime() + INVITATION_DAYS * 86_400_000),
  })
  mails.send(
    invitationEmail(publicOrigin(), { id, email, workspaceName, inviterName: person.name }),
  )
  return id
}

export interface InvitationReference {
  workspaceId: unknown
  invitationId: unknown
}

/** Takes back an invitation of one's workspace. */
export async function withdrawInvitation(
  { database, now }: PeopleContext,
  person: CurrentPerson,
  { workspaceId: given, invitationId }: InvitationReference,
): Promise<void> {
  const intent = { workspaceId: given, action: 'invite' } as const
  const { workspaceId } = await requireRole(database, person, intent)
  const id = parseInvitationId(invitationId)
  const invitation = id === null ? null : await findInvitation(database, id, now())
  if (invitation?.workspaceId !== workspaceId) throw invitationNotFound()
  await closeInvitation(database, invitation.id, 'withdrawn')
}

/**
 * The invitation, to the person whom it is for: the address must be theirs and confirmed. To
 * everybody else it does not exist.
 */
export async function readInvitation(
  { database, now }: PeopleContext,
  person: CurrentPerson,
  invitationId: unknown,
): Promise<Invitation> {
  const id = parseInvitationId(invitationId)
  const invitation = id === null ? null : await findInvitation(database, id, now())
  const isTheirs = person.isEmailVerified && invitation?.email === person.email
  if (!invitation || !isTheirs) throw invitationNotFound()
  return invitation
}

/** Answers it; of two answers at once one counts. Returns the workspace's id. */
export async function answerInvitation(
  context: PeopleContext,
  person: CurrentPerson,
  { invitationId, answer }: { invitationId: unknown; answer: 'accepted' | 'declined' },
): Promise<number> {
  const { id, workspaceId, role } = await readInvitation(context, person, invitationId)
  const createdAt = context.now()
  await context.database.query.transaction().execute(async query => {
    if (!(await closeInvitation({ query }, id, answer))) throw invitationNotFound()
    if (answer === 'declined') return
    await insertMember({ query }, { workspaceId, userId: person.userId, role, createdAt })
  })
  return workspaceId
}

function invitationNotFound(): Refusal {
  return Refusal.notFound(
    'There is no such invitation for you: it is for another address, was answered or is too old.',
  )
}

function parseInvitationId(given: unknown): string | null {
  const text = String(given)
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : null
}
