import { requireSignIn, type SignInCheck } from '../../people/require-sign-in.ts'
import type { CurrentPerson, SessionContext } from '../../people/session-store.ts'

/** Who looks at a page of which workspace; what stands in the path is checked by the verbs. */
export interface WorkspacePageRequest {
  person: CurrentPerson
  workspaceId: string
}

export interface WorkspacePageExchange {
  request: SignInCheck['request'] & { url: string; params: unknown }
  reply: SignInCheck['reply']
}

/**
 * Null when the reply has been sent: nobody is signed in, or they have to change their password.
 * Afterwards they come back to the page that they asked for; a form is not sent again by itself.
 */
export async function requirePageSession(
  context: SessionContext,
  { request, reply }: WorkspacePageExchange,
): Promise<WorkspacePageRequest | null> {
  const { workspace: workspaceId } = request.params as { workspace: string }
  const person = await requireSignIn(context, { request, reply, returnTo: request.url })
  return person && { person, workspaceId }
}
