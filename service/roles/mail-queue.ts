import { createOutboxTransport, createSmtpTransport, outboxFolder } from '../people/mail/client.ts'
import { MailQueue } from '../people/mail/mail-queue.ts'
import type { RoleContext } from './role.ts'

/**
 * Mails to people: by the mail server of the settings, or into a folder, which the log then says.
 */
export function mailQueue({ settings, logger, now }: RoleContext): MailQueue {
  const { mailUrl, mailFrom, dataDirectory } = settings
  const onFailure = (code: string) => logger.error({ code }, 'a mail was not sent')
  if (mailUrl !== undefined) {
    return new MailQueue({
      transport: createSmtpTransport({ url: mailUrl, from: mailFrom }),
      onFailure,
    })
  }
  const folder = outboxFolder(dataDirectory)
  const intoFolder = createOutboxTransport(folder, now)
  logger.info({ folder }, 'there is no mail server: mails are written into a folder')
  return new MailQueue({ transport: intoFolder, onFailure })
}
