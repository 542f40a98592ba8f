import { type CurrentPerson, currentPerson } from './current-person.ts'
import type { PeopleContext } from './people-context.ts'

/** As much of a request and its answer as pages need. */
export interface PageRequest {
  method: string
  url: string
  headers: { cookie?: string | undefined; 'user-agent'?: string | undefined }
  params: unknown
  query: unknown
  body: unknown
}

export interface PageReply {
  redirect(url: string, code: number): unknown
  header(name: string, value: string): unknown
  code(status: number): { send(text: string): unknown }
}

export interface PersonalVisit {
  person: CurrentPerson
  request: PageRequest
  reply: PageReply
}

const SEE_OTHER = 303
/** Where somebody with a password that was made for them may go. */
const FIRST_PASSWORD_PATH = '/account/password'

/**
 * Makes the handler of a page for who is signed in. Others are led to sign in and then back, but
 * for a form, which is not sent again by itself.
 */
export function personalPage(
  context: PeopleContext,
  handle: (visit: PersonalVisit) => Promise<unknown>,
) {
  return async (request: PageRequest, reply: PageReply) => {
    const person = await currentPerson(context, request.headers)
    if (!person) {
      const query = request.method === 'GET' ? `?return_to=${encodeURIComponent(request.url)}` : ''
      return reply.redirect(`/sign-in${query}`, SEE_OTHER)
    }
    const path = request.url.split('?', 1)[0]
    if (person.mustChangePassword && path !== FIRST_PASSWORD_PATH) {
      return reply.redirect(FIRST_PASSWORD_PATH, SEE_OTHER)
    }
    return handle({ person, request, reply })
  }
}

/** After a form: the next page is asked for anew, so that reloading sends nothing twice. */
export function seeOther(reply: PageReply, path: string): unknown {
  return reply.redirect(path, SEE_OTHER)
}
