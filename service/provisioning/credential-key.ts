import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { keptSecret } from './kept-secret.ts'

const KEY_BYTES = 32
const FILE = 'credential-key'

/** The key cannot be read or kept; the message is one sentence and never holds the key. */
export class CredentialKeyError extends Error {
  override name = 'CredentialKeyError'
}

/** A command that only handles credentials makes no key: no worker would have it. */
export type WhenMissing = 'make' | 'refuse'

/**
 * The key that encrypts platform credentials at rest: the setting, or one that the first start
 * generates in the data folder (mode 0600). Every process on one store needs the same key. Throws
 * a CredentialKeyError.
 */
export function credentialKey(
  setting: string | undefined,
  dataDirectory: string,
  whenMissing: WhenMissing = 'make',
): Buffer {
  if (setting !== undefined) return Buffer.from(setting, 'hex')
  const path = join(dataDirectory, FILE)
  if (whenMissing === 'refuse' && !existsSync(path)) {
    throw new CredentialKeyError(
      `There is no key in ${path}: set SIGNALBOX_CREDENTIAL_KEY to the one that the workers have.`,
    )
  }
  const key = Buffer.from(keptText(path, dataDirectory), 'hex')
  if (key.length === KEY_BYTES) return key
  throw new CredentialKeyError(
    `${path} does not hold a key of ${KEY_BYTES} bytes: restore it from a backup.`,
  )
}

function keptText(path: string, dataDirectory: string): string {
  try {
    return keptSecret(dataDirectory, FILE, () => randomBytes(KEY_BYTES).toString('hex'))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new CredentialKeyError(
      `The key in ${path} cannot be read or made (${code}): let this account write the folder, ` +
        'or set SIGNALBOX_CREDENTIAL_KEY.',
      { cause },
    )
  }
}
