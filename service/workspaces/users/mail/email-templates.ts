import {
  DECIDING_ROLES,
  ROLE_ABILITIES,
  ROLE_LABELS,
  type WorkspaceRole,
} from '@signalbox/contract/session/roles.ts'
import { formatIsoMinute } from '../../../runtime/util/time.ts'
import { parseName } from '../user-input.ts'
import type { Email } from './mail-queue.ts'

/** How long an emailed link works. Each link works once. */
export const LINK_LIFETIME_MINUTES = { verification: 24 * 60, reset: 60, signIn: 15 } as const

export interface EmailRecipient {
  email: string
  name: string
}

/**
 * Links start with the configured public origin, never with the Host header of a request. They
 * carry the token in the query, for a page that asks before it uses it: email scanners follow
 * links.
 */
export function verificationEmail(origin: string, user: EmailRecipient, token: string): Email {
  return composeEmail(user.email, 'Confirm your email', [
    greet(user),
    'please confirm your email address:',
    buildLink(origin, '/verify', { token }),
    `The link works for ${LINK_LIFETIME_MINUTES.verification / 60} hours.`,
    'If you did not sign up, ignore this email.',
  ])
}

/** Sent to the owner of an account when its address is used for another sign-up. */
export function alreadyRegisteredEmail(origin: string, user: EmailRecipient): Email {
  return composeEmail(user.email, 'You already have an account', [
    greet(user),
    'a sign-up was attempted with this address, which already has an account. Sign in here:',
    buildLink(origin, '/sign-in'),
    `Forgot your password? ${buildLink(origin, '/forgot')}`,
    'If this was not you, you do not need to do anything.',
  ])
}

export function passwordResetEmail(origin: string, user: EmailRecipient, token: string): Email {
  return composeEmail(user.email, 'Choose a new password', [
    greet(user),
    'choose a new password here:',
    buildLink(origin, '/reset', { token }),
    `The link works once, for ${LINK_LIFETIME_MINUTES.reset} minutes.`,
    'If you did not request it, ignore this email.',
  ])
}

const ENDED = 'All earlier sessions and emailed links have ended.'

/** Sent to the owner of an account, who may not be the one who changed the password. */
export function passwordChangedEmail(origin: string, user: EmailRecipient, at: Date): Email {
  return composeEmail(user.email, 'Your password was changed', [
    greet(user),
    `the password of your account was changed at ${formatIsoMinute(at)} UTC. ${ENDED}`,
    'If this was not you, choose a new password now:',
    buildLink(origin, '/forgot'),
  ])
}

export function signInLinkEmail(origin: string, email: string, token: string): Email {
  return composeEmail(email, 'Your sign-in link', [
    'Hello,',
    'this link signs you in:',
    buildLink(origin, '/magic', { token }),
    `It works once, for ${LINK_LIFETIME_MINUTES.signIn} minutes.`,
    'If you did not request it, ignore this email.',
  ])
}

const FACTOR_CHANGES = {
  app_added: 'an authenticator app was added to your account.',
  app_removed: 'the authenticator app was removed from your account.',
  codes_replaced: 'the recovery codes of your account were replaced.',
  passkey_added: 'a passkey was added to your account.',
  passkey_removed: 'a passkey was removed from your account.',
} as const

/** Tells a user that a second factor of their account changed. */
export function factorChangedEmail(
  origin: string,
  user: EmailRecipient,
  change: keyof typeof FACTOR_CHANGES,
): Email {
  return composeEmail(user.email, 'Your sign-in methods changed', [
    greet(user),
    FACTOR_CHANGES[change],
    'If this was not you, choose a new password and check your account:',
    buildLink(origin, '/forgot'),
    buildLink(origin, '/account'),
  ])
}

/** Tells a user that the provider of their company opens their account from now on. */
export function providerLinkedEmail(origin: string, user: EmailRecipient, provider: string): Email {
  return composeEmail(user.email, 'Your sign-in methods changed', [
    greet(user),
    `sign-in with ${provider} was linked to your account, by this address.`,
    'If this was not you, tell the operator of this service, and look at your sessions:',
    buildLink(origin, '/account'),
  ])
}

interface InvitationDetails {
  id: string
  email: string
  role: WorkspaceRole
  workspaceName: string
  inviterName: string
}

export function invitationEmail(origin: string, invitation: InvitationDetails): Email {
  // A name from before the rule may have a link.
  const { role } = invitation
  const inviter = parseName(invitation.inviterName) ?? 'A member'
  const workspace = parseName(invitation.workspaceName)
  const intent = workspace === null ? 'a workspace' : `the workspace ${workspace}`
  return composeEmail(invitation.email, 'You are invited to a workspace', [
    'Hello,',
    `${inviter} invites you to ${intent} as ${ROLE_LABELS[role].toLowerCase()}. You may:`,
    ROLE_ABILITIES[role].map(sentence => `- ${sentence}`).join('\n'),
    ...(DECIDING_ROLES.includes(role) ? [WAIT] : []),
    `Sign in or sign up with this address, ${invitation.email}, and respond here:`,
    buildLink(origin, `/invitations/${invitation.id}`),
  ])
}

const WAIT =
  'Until 72 hours after you join, or until another owner confirms your role, you are a member.'

function composeEmail(to: string, subject: string, paragraphs: string[]): Email {
  return { to, subject, text: `${[...paragraphs, 'Signalbox'].join('\n\n')}\n` }
}

/** Put each link at the end of a line, so that email programs recognize where it ends. */
function buildLink(origin: string, path: string, query: Record<string, string> = {}): string {
  const url = new URL(path, origin)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

/** Names are untrusted: one that breaks our rule, stored before it, is left out. */
function greet({ name }: EmailRecipient): string {
  const shown = parseName(name)
  return shown === null ? 'Hello,' : `Hello ${shown},`
}
