import { createTransport } from 'nodemailer'
import type { DeliverMail } from './mails.ts'

const CONNECT_MILLISECONDS_MAX = 10_000
const CONNECTIONS_MAX = 2

export interface MailServer {
  /** smtp:// or smtps://, with user and password where the server wants them. */
  url: string
  from: string
}

/**
 * Sends mails through an SMTP server. Recipient and sender are given as objects, so that nothing in
 * them is read as a list; nothing of a mail may name a file or a URL to attach.
 */
export function mailClient({ url, from }: MailServer): DeliverMail {
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    connectionTimeout: CONNECT_MILLISECONDS_MAX,
    greetingTimeout: CONNECT_MILLISECONDS_MAX,
    socketTimeout: CONNECT_MILLISECONDS_MAX,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return async ({ to, subject, text }) => {
    await transport.sendMail({
      from: { name: 'Signalbox', address: from },
      to: { name: '', address: to },
      subject: subject.replaceAll(/\s+/g, ' '),
      text,
      // RFC 3834: nobody's holiday answers to it.
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
  }
}
