import { type Addressee, LINK_MINUTES } from '../auth-library.ts'
import type { Mail } from './mails.ts'

/**
 * The mails to people. Links begin with the public origin of the settings, never with what a
 * request says of its host, and carry the token in the query, for a page that asks before it uses
 * it: mail scanners follow links.
 */
export function verificationLetter(origin: string, person: Addressee, token: string): Mail {
  return letter(person.email, 'Confirm your address', [
    `Hello ${oneLine(person.name)},`,
    'please confirm that this address is yours:',
    link(origin, '/verify', { token }),
    `The link works for ${LINK_MINUTES.verification / 60} hours.`,
    'If you did not sign up, ignore this mail.',
  ])
}

/** To somebody with whose address somebody signs up again. */
export function alreadyKnownLetter(origin: string, person: Addressee): Mail {
  return letter(person.email, 'You have an account already', [
    `Hello ${oneLine(person.name)},`,
    'somebody tried to sign up with this address, which has an account already. Sign in here:',
    link(origin, '/sign-in'),
    `Forgot your password? ${link(origin, '/forgot')}`,
    'If it was not you, nothing happened and there is nothing to do.',
  ])
}

export function resetLetter(origin: string, person: Addressee, token: string): Mail {
  return letter(person.email, 'Choose a new password', [
    `Hello ${oneLine(person.name)},`,
    'choose a new password here:',
    link(origin, '/reset', { token }),
    `The link works once, for ${LINK_MINUTES.reset} minutes.`,
    'If you did not ask for it, ignore this mail.',
  ])
}

export function signInLetter(origin: string, email: string, token: string): Mail {
  return letter(email, 'Your link to sign in', [
    'Hello,',
    'this link signs you in:',
    link(origin, '/magic', { token }),
    `It works once, for ${LINK_MINUTES.signIn} minutes.`,
    'If you did not ask for it, ignore this mail.',
  ])
}

export interface InvitationNotice {
  id: string
  email: string
  workspaceName: string
  inviterName: string
}

export function invitationLetter(origin: string, notice: InvitationNotice): Mail {
  return letter(notice.email, 'You are invited to a workspace', [
    'Hello,',
    `${oneLine(notice.inviterName)} invites you to a workspace: ${oneLine(notice.workspaceName)}.`,
    `Sign in or sign up with this address, ${notice.email}, and answer here:`,
    link(origin, `/invitations/${notice.id}`),
  ])
}

function letter(to: string, subject: string, paragraphs: string[]): Mail {
  return { to, subject, text: `${[...paragraphs, 'Signalbox'].join('\n\n')}\n` }
}

/** On a line of its own or at the end of one, so that mail programs find where it ends. */
function link(origin: string, path: string, query: Record<string, string> = {}): string {
  const url = new URL(path, origin)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

const NAME_CHARACTERS_MAX = 100

/** Names are written by strangers: no lines of their own, and nothing that looks like a link. */
function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replaceAll(/:\/\/|www\./gi, ' ')
    .slice(0, NAME_CHARACTERS_MAX)
    .trim()
}
