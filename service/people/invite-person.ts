import { randomUUID } from 'node:crypto'
import { FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import type { CurrentPerson } from './current-person.ts'
import { emailAddress } from './email-address.ts'
import {
  findInvitation,
  type Invitation,
  settleInvitation,
  upsertInvitation,
} from './invitation-store.ts'
import { limitAccount } from './limit-account.ts'
import { invitationLetter } from './mail/letters.ts'
import { insertMember, listMembers } from './member-store.ts'
import type { PeopleContext } from './people-context.ts'
import { requireRole } from './require-role.ts'
import { isWorkspaceRole, mayGrant } from './workspace-role.ts'

const INVITATION_DAYS = 7

export interface InvitationRequest {
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
  { workspaceId: given, ...request }: InvitationRequest,
): Promise<string> {
  const { database, now, mails, publicOrigin } = context
  const intent = { workspaceId: given, action: 'invite' } as const
  const { workspaceId, workspaceName, role: own } = await requireRole(database, person, intent)
  const faults = new FieldErrorList()
  const email = emailAddress(request.email)
  const { role } = request
  if (email === null) faults.add('email', 'Write a mail address such as ada@example.com.')
  if (!isWorkspaceRole(role)) faults.add('role', 'Choose a role from the list.')
  if (email === null || !isWorkspaceRole(role)) throw Refusal.ofFields(faults.toErrors())
  if (!mayGrant(own, role)) {
    throw new Refusal(403, 'You cannot invite to a role above your own; ask an owner.')
  }
  const members = await listMembers(database, workspaceId)
  if (members.some(member => member.email === email)) {
    throw Refusal.ofFields({ email: ['They belong to this workspace already.'] })
  }
  limitAccount(context, `invitation ${email}`)
  const createdAt = now()
  const id = await upsertInvitation(database, {
    ...{ id: randomUUID(), workspaceId, email, role, createdAt },
    invitedBy: person.userId,
    expiresAt: new Date(createdAt.getTime() + INVITATION_DAYS * 86_400_000),
  })
  mails.send(
    invitationLetter(publicOrigin(), { id, email, workspaceName, inviterName: person.name }),
  )
  return id
}

export interface NamedInvitation {
  workspaceId: unknown
  invitationId: unknown
}

/** Takes back an invitation of one's workspace. */
export async function withdrawInvitation(
  { database, now }: PeopleContext,
  person: CurrentPerson,
  { workspaceId: given, invitationId }: NamedInvitation,
): Promise<void> {
  const intent = { workspaceId: given, action: 'invite' } as const
  const { workspaceId } = await requireRole(database, person, intent)
  const id = invitationKey(invitationId)
  const invitation = id === null ? null : await findInvitation(database, id, now())
  if (invitation?.workspaceId !== workspaceId) throw noInvitation()
  await settleInvitation(database, invitation.id, 'withdrawn')
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
  const id = invitationKey(invitationId)
  const invitation = id === null ? null : await findInvitation(database, id, now())
  const isTheirs = person.isEmailVerified && invitation?.email === person.email
  if (!invitation || !isTheirs) throw noInvitation()
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
    if (!(await settleInvitation({ query }, id, answer))) throw noInvitation()
    if (answer === 'declined') return
    await insertMember({ query }, { workspaceId, userId: person.userId, role, createdAt })
  })
  return workspaceId
}

function noInvitation(): Refusal {
  return Refusal.notFound(
    'There is no such invitation for you: it is for another address, was answered or is too old.',
  )
}

function invitationKey(given: unknown): string | null {
  const text = String(given)
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : null
}
