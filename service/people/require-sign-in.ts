import { type CurrentPerson, findCurrentPerson, type SessionContext } from './session-store.ts'

export interface SignInCheck {
  request: { headers: { cookie?: string | undefined } }
  reply: { redirect(url: string, code: number): unknown }
  /** The path to come back to after signing in. */
  returnTo: string
}

/**
 * Who opens a page; null when nobody is signed in, or when they have to change their password
 * first. Then the reply has been sent: it leads to the page where they do that, and from there
 * back.
 */
export async function requireSignIn(
  context: SessionContext,
  { request, reply, returnTo: back }: SignInCheck,
): Promise<CurrentPerson | null> {
  const person = await findCurrentPerson(context, request.headers)
  if (person && !person.mustChangePassword) return person
  reply.redirect(
    person ? '/account/password' : `/sign-in?return_to=${encodeURIComponent(back)}`,
    303,
  )
  return null
}
