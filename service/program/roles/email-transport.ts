import {
  createOutboxTransport,
  createSmtpTransport,
  outboxFolder,
} from '../../workspaces/users/mail/client.ts'
import type { EmailTransport } from '../../workspaces/users/mail/mail-queue.ts'
import type { RoleContext } from './role.ts'

/** Sends emails through the mail server of the settings; without one, writes them to a folder. */
export function createEmailTransport({
  settings,
  now,
}: Pick<RoleContext, 'settings' | 'now'>): EmailTransport {
  const { mailUrl, mailFrom, dataDirectory } = settings
  if (mailUrl !== undefined) return createSmtpTransport({ url: mailUrl, from: mailFrom })
  return createOutboxTransport(outboxFolder(dataDirectory), now)
}
