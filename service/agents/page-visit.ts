import { signedInPerson, type Visit } from '../oauth/signed-in-person.ts'
import type { CurrentPerson, SessionContext } from '../people/current-person.ts'

/** Who looks at a page of which workspace; what stands in the path is checked by the verbs. */
export interface PageVisit {
  person: CurrentPerson
  workspaceId: string
}

export interface PageArrival {
  request: Visit['request'] & { url: string; params: unknown }
  reply: Visit['reply']
}

/**
 * Null when the reply has been sent: nobody is signed in, or they have to change their password.
 * Afterwards they come back to the page that they asked for; a form is not sent again by itself.
 */
export async function pageVisit(
  context: SessionContext,
  { request, reply }: PageArrival,
): Promise<PageVisit | null> {
  const { workspace: workspaceId } = request.params as { workspace: string }
  const person = await signedInPerson(context, { request, reply, back: request.url })
  return person && { person, workspaceId }
}
