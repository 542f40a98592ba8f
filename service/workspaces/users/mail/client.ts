import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import { writePrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import type { Transporter } from 'nodemailer'
import type { EmailTransport } from './mail-queue.ts'

const CONNECT_MILLISECONDS_MAX = 10_000
const CONNECTIONS_MAX = 2

const SMTP_LIMITS = {
  connectionTimeout: CONNECT_MILLISECONDS_MAX,
  greetingTimeout: CONNECT_MILLISECONDS_MAX,
  socketTimeout: CONNECT_MILLISECONDS_MAX,
  disableFileAccess: true,
  disableUrlAccess: true,
}

interface SmtpServer {
  /** smtp:// or smtps://, with user and password if the server requires them. */
  url: string
  from: string
}

/**
 * Sends emails through an SMTP server. Sender and recipient are objects, so that neither is parsed
 * as a list. Emails cannot attach files or URLs.
 */
export function createSmtpTransport({ url, from }: SmtpServer): EmailTransport {
  let transport: Promise<Transporter> | null = null
  return async ({ to, subject, text }) => {
    transport ??= openTransport(url)
    const mailer = await transport
    await mailer.sendMail({
      from: { name: 'Signalbox', address: from },
      to: { name: '', address: to },
      subject: toSingleLine(subject),
      text,
      // RFC 3834: suppresses automatic replies.
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
  }
}

/** Loads the library for the first email: it takes 4 MB for each thread. */
async function openTransport(url: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({ url, pool: true, maxConnections: CONNECTIONS_MAX, ...SMTP_LIMITS })
}

/** Connects and signs in without sending. Returns the error code, or null when it worked. */
export async function findSmtpError(url: string): Promise<string | null> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({ url, ...SMTP_LIMITS })
  try {
    await transport.verify()
    return null
  } catch (error) {
    return String((error as { code?: unknown }).code ?? 'no_response')
  } finally {
    transport.close()
  }
}

const OWNER_ONLY_MODE = 0o700

/**
 * For development without a mail server: writes each email as a text file, named by time and
 * number, into a folder that only its owner can read. Emails contain links that open accounts.
 */
export function createOutboxTransport(folder: string, now: () => Date): EmailTransport {
  let count = 0
  return async ({ to, subject, text }) => {
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_MODE })
    // An existing folder may be readable by others.
    chmodSync(folder, OWNER_ONLY_MODE)
    const at = now()
    const nextName = () => {
      count += 1
      const number = String(count).padStart(4, '0')
      // HTTP workers share the folder, and each counts its own emails.
      const suffix = threadId === 0 ? number : `${number}-${threadId}`
      return `${at.toISOString().replaceAll(':', '-')}-${suffix}.txt`
    }
    let name = nextName()
    // The jobs write to the same folder, perhaps in the same millisecond.
    while (existsSync(join(folder, name))) name = nextName()
    const headers = [
      `To: ${toSingleLine(to)}`,
      `Subject: ${toSingleLine(subject)}`,
      `Date: ${at.toUTCString()}`,
    ]
    writePrivateFile(folder, name, `${headers.join('\n')}\n\n${text}`)
  }
}

function toSingleLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

/** The path of the outbox in the data folder. */
export function outboxFolder(dataDirectory: string): string {
  return join(dataDirectory, 'outbox')
}
