import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import { writePrivateFile } from '../../db/private-file.ts'
import type { DeliverMail } from './mails.ts'

const OWNER_ONLY = 0o700

/**
 * For development, where there is no mail server: writes each mail as a text file, named by its
 * time and number, into a folder that only its owner may read. Mails hold links that open accounts.
 */
export function mailOutbox(folder: string, now: () => Date): DeliverMail {
  let count = 0
  return async ({ to, subject, text }) => {
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY })
    // A folder that was there already may be open to others.
    chmodSync(folder, OWNER_ONLY)
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
