import { currentPerson } from './current-person.ts'
import type { PeopleContext } from './people-context.ts'
import type { PageReply, PageRequest } from './personal-page.ts'
import { sessionCookie } from './session-cookie.ts'
import { deleteSession } from './session-store.ts'

export interface NewSession {
  request: Pick<PageRequest, 'headers'>
  reply: Pick<PageReply, 'header'>
  token: string
}

/**
 * Gives the browser its new session. The one that it brought ends: whoever planted that one, or
 * kept a copy of it, gains nothing when somebody signs in (session fixation).
 */
export async function replaceSession(
  context: PeopleContext,
  { request, reply, token }: NewSession,
): Promise<void> {
  const before = await currentPerson(context, request.headers)
  if (before) await deleteSession(context.database, before.userId, before.sessionId)
  reply.header('set-cookie', sessionCookie(context.publicOrigin(), token))
}
