import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import { writePrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import { createTransport } from 'nodemailer'
import type { EmailTransport } from './mail-queue.ts'

const CONNECT_MILLISECONDS_MAX = 10_000
const CONNECTIONS_MAX = 2

interface SmtpServer {
  /** smtp:// or smtps://, with user and password where the server wants them. */
  url: string
  from: string
}

/**
 * Sends mails through an SMTP server. Recipient and sender are given as objects, so that nothing in
 * them is read as a list; nothing of a mail may name a file or a URL to attach.
 */
export function createSmtpTransport({ url, from }: SmtpServer): EmailTransport {
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

const OWNER_ONLY_MODE = 0o700

/**
 * For development, where there is no mail server: writes each mail as a text file, named by its
 * time and number, into a folder that only its owner may read. Mails hold links that open accounts.
 */
export function createOutboxTransport(folder: string, now: () => Date): EmailTransport {
  let count = 0
  return async ({ to, subject, text }) => {
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_MODE })
    // A folder that was there already may be open to others.
    chmodSync(folder, OWNER_ONLY_MODE)
    const at = now()
    count += 1
    const number = String(count).padStart(4, '0')
    // HTTP workers write into one folder, and each counts its own mails.
    const place = threadId === 0 ? number : `${number}-${threadId}`
    const name = `${at.toISOString().replaceAll(':', '-')}-${place}.txt`
    const oneLine = (value: string) => value.replaceAll(/\s+/g, ' ')
    const head = `To: ${oneLine(to)}\nSubject: ${oneLine(subject)}\nDate: ${at.toUTCString()}\n`
    writePrivateFile(folder, name, `${head}\n${text}`)
  }
}

/** Where it lies below the data folder. */
export function outboxFolder(dataDirectory: string): string {
  return join(dataDirectory, 'outbox')
}
