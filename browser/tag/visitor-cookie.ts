import { type Page, runSafely } from './page.ts'

/** 13 months, counted from the first event with consent and never prolonged. */
const MAX_AGE_SECONDS = 395 * 86_400
const NAME = '_sbx'

export interface VisitorCookie {
  /** The visitor's pseudonymous id; makes and keeps one when there is none. Needs consent. */
  id(): string
  /** Removes the cookie, and says which id the visitor had, if any. */
  forget(): string | undefined
}

export function createVisitorCookie(page: Page, domain: string | undefined): VisitorCookie {
  // Also kept here: where cookies are blocked, the events of one page still belong together.
  let current: string | undefined
  let forgotten: string | undefined

  function write(value: string, ageSeconds: number): void {
    const scope = domain ? `;Domain=${domain}` : ''
    const secure = page.location.protocol === 'https:' ? ';Secure' : ''
    const cookie = `${NAME}=${value};Path=/;SameSite=Lax;Max-Age=${ageSeconds}${scope}${secure}`
    runSafely(() => {
      page.document.cookie = cookie
    })
  }

  return {
    id() {
      current = readCookie(page, NAME) || current
      if (!current) {
        current = randomId()
        write(current, MAX_AGE_SECONDS)
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

/** The value of a cookie as it stands there. A page that may not have cookies has none. */
export function readCookie(page: Page, name: string): string | undefined {
  try {
    return (RegExp(`(?:^|; )${name}=([^;]+)`).exec(page.document.cookie) || [])[1]
  } catch {
    return
  }
}

/** A random UUID; on plain HTTP, where browsers have no randomUUID, as many random digits. */
export function randomId(): string {
  if (crypto.randomUUID) return crypto.randomUUID()
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}
