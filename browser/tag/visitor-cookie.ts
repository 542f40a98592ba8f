import { guarded } from './guarded.ts'
import type { Page } from './page.ts'
import { randomId } from './random-id.ts'
import { readCookie } from './read-cookie.ts'

/** 13 months, counted from the first event with consent and never prolonged. */
const AGE_SECONDS_MAX = 395 * 86_400
const NAME = '_sbx'

export interface VisitorCookie {
  /** The visitor's pseudonymous id; makes and keeps one when there is none. Needs consent. */
  id(): string
  /** Removes the cookie, and says which id the visitor had, if any. */
  forget(): string | undefined
}

export function visitorCookie(page: Page, domain: string | undefined): VisitorCookie {
  // Also kept here: where cookies are blocked, the events of one page still belong together.
  let current: string | undefined
  let forgotten: string | undefined

  function write(value: string, ageSeconds: number): void {
    const scope = domain ? `;Domain=${domain}` : ''
    const secure = page.location.protocol === 'https:' ? ';Secure' : ''
    const cookie = `${NAME}=${value};Path=/;SameSite=Lax;Max-Age=${ageSeconds}${scope}${secure}`
    guarded(() => {
      page.document.cookie = cookie
    })
  }

  return {
    id() {
      current = readCookie(page, NAME) || current
      if (!current) {
        current = randomId()
        write(current, AGE_SECONDS_MAX)
      }
      return current
    },
    forget() {
      const kept = readCookie(page, NAME)
      if (kept) write('', 0)
      forgotten = kept || current || forgotten
      current = undefined
      return forgotten
    },
  }
}
