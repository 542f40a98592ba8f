import type { Page } from './page.ts'

/** The value of a cookie as it stands there. A page that may not have cookies has none. */
export function readCookie(page: Page, name: string): string | undefined {
  try {
    return (RegExp(`(?:^|; )${name}=([^;]+)`).exec(page.document.cookie) || [])[1]
  } catch {
    return
  }
}
