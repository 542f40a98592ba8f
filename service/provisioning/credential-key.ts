import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const KEY_BYTES = 32
const FILE = 'credential-key'

/**
 * The key that encrypts platform credentials at rest: the setting, or one that the first start
 * generates in the data folder (mode 0600). Every process on one store needs the same key.
 */
export function credentialKey(setting: string | undefined, dataDirectory: string): Buffer {
  if (setting !== undefined) return Buffer.from(setting, 'hex')
  const path = join(dataDirectory, FILE)
  try {
    mkdirSync(dataDirectory, { recursive: true })
    // `wx` fails when the file is there, so that two starts at once agree on one key.
    writeFileSync(path, randomBytes(KEY_BYTES).toString('hex'), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'hex')
  if (key.length === KEY_BYTES) return key
  throw new Error(`${path} does not hold a key of ${KEY_BYTES} bytes; restore it from a backup.`)
}
