import { type Page, runSafely } from './page.ts'

/** 13 months from the first event with consent, never extended. */
const MAX_AGE_SECONDS = 395 * 86_400
const NAME = '_sbx'

export interface VisitorCookie {
  /** The visitor's pseudonymous ID; creates one if missing. Requires consent. */
  id(): string
  /** Returns the visitor's ID, if any, and removes the cookie unless something keeps it. */
  remove(keptFor?: unknown): string | undefined
}

export function createVisitorCookie(page: Page, domain: string | undefined): VisitorCookie {
  // Where cookies are blocked, the events of one page still share an ID.
  let current: string | undefined
  let removed: string | undefined

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
    remove(keptFor) {
      const stored = readCookie(page, NAME)
      removed = stored || current || removed
      if (!keptFor) {
        if (stored) write('', 0)
        current = undefined
      }
      return removed
    },
  }
}

/** The raw value of a cookie; undefined on a page that forbids cookies. */
export function readCookie(page: Page, name: string): string | undefined {
  try {
    return (RegExp(`(?:^|; )${name}=([^;]+)`).exec(page.document.cookie) || [])[1]
  } catch {
    // The page forbids cookies.
  }
}

/** A random UUID of version 4, also on plain HTTP, where browsers lack randomUUID. */
export function randomId(): string {
  return '00000000-0000-4000-8000-000000000000'.replace(/0/g, () => {
    const [byte] = crypto.getRandomValues(new Uint8Array(1)) as unknown as [number]
    return (byte % 16).toString(16)
  })
}
