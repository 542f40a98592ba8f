import { providerLinkedEmail } from '../mail/email-templates.ts'
import type { PageRequest } from '../page-visit.ts'
import { type CurrentUser, insertSession } from '../session-store.ts'
import { createSessionToken, hashSessionToken, sessionExpiry } from '../session-token.ts'
import {
  type NewSession,
  replaceSessionToken,
  userAgentHeaders,
  verifyNewSession,
} from '../sign-in.ts'
import { maySignUp } from '../sign-up-policy.ts'
import { parseEmailAddress, toUserName } from '../user-input.ts'
import {
  findUserByEmail,
  findUserByIdentity,
  insertUser,
  linkIdentity,
  listLinkedIdentities,
} from '../user-store.ts'
import type { UsersContext } from '../users-context.ts'
import { type ProviderIdentity, TOLERANCE_SECONDS } from './client.ts'

/** Why nobody is signed in; each has its own sentence on the sign-in page. */
export type LinkRefusal =
  | 'email_unverified'
  | 'domain_not_allowed'
  | 'account_unverified'
  | 'another_identity'
  | 'sign_up_refused'
  | 'refused'

export type LinkedSignIn = NewSession | { outcome: LinkRefusal }

interface ProviderAnswer {
  identity: ProviderIdentity
  request: PageRequest
}

/**
 * Signs in the person of an identity. The first time, the identity is linked to the account of its
 * address, or to a new one (docs/decisions/0071). Afterwards the issuer and the subject decide, so
 * an address that was given to a colleague does not open the account of who had it before.
 */
export async function signInByIdentity(
  context: UsersContext,
  { identity, request }: ProviderAnswer,
): Promise<LinkedSignIn> {
  const found = await findOrLinkUser(context, { identity, request })
  if (typeof found === 'string') return { outcome: found }
  const at = context.now()
  const token = createSessionToken()
  await insertSession(context.database, {
    userId: found,
    tokenDigest: hashSessionToken(token),
    userAgent: userAgentHeaders(request.headers['user-agent']).get('user-agent'),
    at,
    expiresAt: sessionExpiry(at),
    authenticatedAt: provenAt(identity, at),
  })
  const session = await verifyNewSession(context, token)
  return 'token' in session ? session : { outcome: 'refused' }
}

/**
 * A provider signs a person in silently while its own session lasts. So the session here counts as
 * confirmed from when the person last proved who they are, and as never when that is not said.
 */
function provenAt({ authenticatedAt }: ProviderIdentity, at: Date): Date {
  if (authenticatedAt === null) return new Date(0)
  return authenticatedAt < at ? authenticatedAt : at
}

async function findOrLinkUser(
  context: UsersContext,
  { identity, request }: ProviderAnswer,
): Promise<number | LinkRefusal> {
  const { database, singleSignOn } = context
  const email = parseEmailAddress(identity.email)
  if (email === null || !identity.isEmailVerified) return 'email_unverified'
  const domain = email.slice(email.lastIndexOf('@') + 1)
  if (!singleSignOn?.domains.includes(domain)) return 'domain_not_allowed'
  const accountId = identityKey(context, identity)
  const linked = await findUserByIdentity(database, accountId)
  if (linked !== null) return linked
  if ((await findUserByEmail(database, email)) === null) {
    if (!(await maySignUp(context, email))) return 'sign_up_refused'
    const createdAt = context.now()
    const name = toUserName(identity.name, email)
    // Null when a concurrent request has created the account: it is linked below.
    await insertUser(database, {
      email,
      name,
      passwordHash: null,
      mustChangePassword: false,
      createdAt,
    })
    return linkByEmail(context, { email, accountId, request, isNew: true })
  }
  return linkByEmail(context, { email, accountId, request, isNew: false })
}

interface EmailLink {
  email: string
  accountId: string
  request: PageRequest
  isNew: boolean
}

/**
 * Links an identity to the account of its address. An account whose owner has not confirmed the
 * address may be that of an attacker who waits for this (account pre-hijacking); one that has
 * another identity of this issuer belongs to who had the address before.
 */
async function linkByEmail(
  context: UsersContext,
  { email, accountId, request, isNew }: EmailLink,
): Promise<number | LinkRefusal> {
  const { database, now, mailer, publicOrigin, singleSignOn } = context
  const issuerPrefix = `${singleSignOn?.provider.issuer} `
  const outcome = await database.query.transaction().execute(async query => {
    const user = await findUserByEmail({ query }, email)
    if (!user) return 'refused'
    if (!user.isEmailVerified) return 'account_unverified'
    const linked = await listLinkedIdentities({ query }, user.userId)
    const others = linked.filter(id => id.startsWith(issuerPrefix) && id !== accountId)
    if (others.length > 0) return 'another_identity'
    await linkIdentity({ query }, user.userId, { accountId, at: now() })
    return user
  })
  if (typeof outcome === 'string') return outcome
  await context.recordSecurityEvent({ type: 'provider.linked', user: outcome, request })
  if (!isNew) mailer.send(providerLinkedEmail(publicOrigin(), outcome, singleSignOn?.name ?? ''))
  return outcome.userId
}

/** An issuer is a URL, which has no space. */
function identityKey({ singleSignOn }: UsersContext, { subject }: ProviderIdentity): string {
  return `${singleSignOn?.provider.issuer} ${subject}`
}

/** Whether the user may confirm their identity at the provider: not instead of a second factor. */
export async function canConfirmAtProvider(
  { database, singleSignOn }: UsersContext,
  user: CurrentUser,
): Promise<boolean> {
  if (!singleSignOn || user.hasSecondFactor) return false
  const linked = await listLinkedIdentities(database, user.userId)
  return linked.some(id => id.startsWith(`${singleSignOn.provider.issuer} `))
}

interface ProviderConfirmation {
  identity: ProviderIdentity
  /** When we sent the person to the provider to sign in again. */
  requestedAt: Date
}

/**
 * Confirms the identity of a signed-in user by a new sign-in at the provider. Returns the new token
 * of the session; null when another person signed in, or when the provider asked nobody again.
 */
export async function confirmByIdentity(
  context: UsersContext,
  user: CurrentUser,
  { identity, requestedAt }: ProviderConfirmation,
): Promise<string | null> {
  const { authenticatedAt } = identity
  const earliest = requestedAt.getTime() - TOLERANCE_SECONDS * 1_000
  if (authenticatedAt === null || authenticatedAt.getTime() < earliest) return null
  if (!(await canConfirmAtProvider(context, user))) return null
  const linked = await findUserByIdentity(context.database, identityKey(context, identity))
  if (linked !== user.userId) return null
  return replaceSessionToken(context, user.sessionId, false)
}
