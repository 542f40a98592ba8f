import { type EmailRecipient, LINK_LIFETIME_MINUTES } from '../auth-library.ts'
import type { Email } from './mail-queue.ts'

/**
 * The mails to people. Links begin with the public origin of the settings, never with what a
 * request says of its host, and carry the token in the query, for a page that asks before it uses
 * it: mail scanners follow links.
 */
export function verificationEmail(origin: string, person: EmailRecipient, token: string): Email {
  return composeEmail(person.email, 'Confirm your address', [
    `Hello ${sanitizeName(person.name)},`,
    'please confirm that this address is yours:',
    buildLink(origin, '/verify', { token }),
    `The link works for ${LINK_LIFETIME_MINUTES.verification / 60} hours.`,
    'If you did not sign up, ignore this mail.',
  ])
}

/** To somebody with whose address somebody signs up again. */
export function alreadyRegisteredEmail(origin: string, person: EmailRecipient): Email {
  return composeEmail(person.email, 'You have an account already', [
    `Hello ${sanitizeName(person.name)},`,
    'somebody tried to sign up with this address, which has an account already. Sign in here:',
    buildLink(origin, '/sign-in'),
    `Forgot your password? ${buildLink(origin, '/forgot')}`,
    'If it was not you, nothing happened and there is nothing to do.',
  ])
}

export function passwordResetEmail(origin: string, person: EmailRecipient, token: string): Email {
  return composeEmail(person.email, 'Choose a new password', [
    `Hello ${sanitizeName(person.name)},`,
    'choose a new password here:',
    buildLink(origin, '/reset', { token }),
    `The link works once, for ${LINK_LIFETIME_MINUTES.reset} minutes.`,
    'If you did not ask for it, ignore this mail.',
  ])
}

export function signInLinkEmail(origin: string, email: string, token: string): Email {
  return composeEmail(email, 'Your link to sign in', [
    'Hello,',
    'this link signs you in:',
    buildLink(origin, '/magic', { token }),
    `It works once, for ${LINK_LIFETIME_MINUTES.signIn} minutes.`,
    'If you did not ask for it, ignore this mail.',
  ])
}

export interface InvitationDetails {
  id: string
  email: string
  workspaceName: string
  inviterName: string
}

export function invitationEmail(origin: string, notice: InvitationDetails): Email {
  return composeEmail(notice.email, 'You are invited to a workspace', [
    'Hello,',
    `${sanitizeName(notice.inviterName)} invites you to a workspace: ${sanitizeName(notice.workspaceName)}.`,
    `Sign in or sign up with this address, ${notice.email}, and answer here:`,
    buildLink(origin, `/invitations/${notice.id}`),
  ])
}

function composeEmail(to: string, subject: string, paragraphs: string[]): Email {
  return { to, subject, text: `${[...paragraphs, 'Signalbox'].join('\n\n')}\n` }
}

/** On a line of its own or at the end of one, so that mail programs find where it ends. */
function buildLink(origin: string, path: string, query: Record<string, string> = {}): string {
  const url = new URL(path, origin)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

const NAME_CHARACTERS_MAX = 100

/** Names are written by strangers: no lines of their own, and nothing that looks like a link. */
function sanitizeName(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replaceAll(/:\/\/|www\./gi, ' ')
    .slice(0, NAME_CHARACTERS_MAX)
    .trim()
}
