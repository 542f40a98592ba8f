import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import {
  type AuditHead,
  type AuditKeys,
  isSignedHead,
  parseHeadLine,
} from '../audit/signed-head.ts'
import { StartError } from './start-error.ts'

/** A line with a head has a quarter of it. */
const LAST_BYTES = 1_024

/**
 * The head in the last line of a file, which may be a whole export, however long. Throws a
 * StartError when there is none, or none that this installation has signed: anybody could have
 * written it.
 */
export function readHeadFile(path: string, keys: AuditKeys): AuditHead {
  const found = parseHeadLine(lastLine(path))
  if (found && isSignedHead(keys, found.head, found.signature)) return found.head
  throw new StartError(
    `${path} does not end with a head that a key of this installation signed: name an export of ` +
      'the log, and its key in SIGNALBOX_CREDENTIAL_KEY_PREVIOUS if it was changed.',
  )
}

function lastLine(path: string): string {
  try {
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(LAST_BYTES)
      const start = Math.max(0, fstatSync(file).size - LAST_BYTES)
      const length = readSync(file, bytes, 0, LAST_BYTES, start)
      return bytes.toString('utf8', 0, length).trimEnd().split('\n').at(-1) ?? ''
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new StartError(`The head cannot be read from ${path} (${code}).`, { cause })
  }
}
