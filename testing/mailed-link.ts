import type { Email } from '../service/people/mail/mail-queue.ts'

/** The path and query of the first link in the newest mail to somebody, optionally to one page. */
export function mailedLink(mails: readonly Email[], to: string, path = '/'): string {
  for (const { text } of mails.filter(mail => mail.to === to).toReversed()) {
    const found = text
      .match(/https?:\/\/\S+/g)
      ?.map(link => new URL(link))
      .find(({ pathname }) => pathname.startsWith(path))
    if (found) return `${found.pathname}${found.search}`
  }
  throw new Error(`no mail to ${to} with a link to ${path}`)
}
