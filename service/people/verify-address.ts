import { decodeJwt } from 'jose'
import { isPasswordOf } from './auth-library.ts'
import { emailAddress } from './email-address.ts'
import { limitAccount } from './limit-account.ts'
import type { PeopleContext } from './people-context.ts'
import { findPasswordHash, findPerson } from './person-store.ts'
import { libraryCode, type SignInOutcome, signIn } from './sign-in.ts'

export interface AddressProof {
  /** Of the mailed link. */
  token: string
  password: string
  userAgent: string | undefined
}

/**
 * Confirms an address by the mailed link together with the password that was chosen at signing up,
 * and signs in. Without the password a stranger could sign up with somebody's address, wait until
 * its owner confirms it, and then own the account ("account pre-hijacking"). `bad_link` covers
 * everything that is wrong with the link.
 */
export async function verifyAddress(
  context: PeopleContext,
  { token, password, userAgent }: AddressProof,
): Promise<SignInOutcome | { outcome: 'bad_link' }> {
  const email = claimedAddress(token)
  if (email === null) return { outcome: 'bad_link' }
  limitAccount(context, email)
  const person = await findPerson(context.database, email)
  const hash = person && (await findPasswordHash(context.database, person.userId))
  if (!hash) return { outcome: 'bad_link' }
  if (!(await isPasswordOf({ hash, password }))) return { outcome: 'refused' }
  const { api } = await context.library()
  try {
    await api.verifyEmail({ query: { token } })
  } catch (error) {
    if (libraryCode(error) === null) throw error
    return { outcome: 'bad_link' }
  }
  return signIn(context, { email, password, userAgent })
}

/** Not believed before the library has checked the signature. */
function claimedAddress(token: string): string | null {
  try {
    return emailAddress(decodeJwt(token).email)
  } catch {
    return null
  }
}
