import {
  closeSync,
  createReadStream,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { writePrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import { isPlatformToken } from '../../runtime/util/sealed-credential.ts'
import {
  CREDENTIAL_CHARACTERS_MAX,
  parseCredentialInput,
} from '../../signals/platforms/credentials.ts'
import type { Platform } from '../../signals/platforms/platform.ts'

/** Everything that a person, a script or a test needs to use one tracker. */
export interface Credentials {
  base_url: string
  tracker_id: string
  tracker_secret: string
  /** For browsers; not a secret. */
  publishable_key: string
  /** Signs the requests of a same-origin forwarder. */
  forwarding_secret: string
  destination_id: string
  /** Null when deliveries go to a real platform. */
  simulator_url: string | null
  workspace_id: number
  /** Null in a workspace without one. */
  ad_account_id: number | null
  /** Signs in at the origin of `base_url`; null when the workspace has other owners. */
  owner_email: string | null
  /** The generated password; null when the owner chose one. */
  owner_password: string | null
  /** Lets an agent propose changes to the ad account; null without an owner. */
  execution_token: string | null
}

/** As stored: files of earlier versions lack some members. */
export type StoredCredentials = Omit<Credentials, OptionalCredential> &
  Partial<Pick<Credentials, OptionalCredential>>
type OptionalCredential = Exclude<keyof Credentials, RequiredCredential>
type RequiredCredential =
  | 'base_url'
  | 'tracker_id'
  | 'tracker_secret'
  | 'destination_id'
  | 'simulator_url'

export class CredentialsFileError extends Error {
  override name = 'CredentialsFileError'
}

const OWNER_ONLY_MODE = 0o600

/**
 * Writes the file atomically, readable by its owner only. Throws a CredentialsFileError, one
 * sentence that names the path.
 */
export function writeCredentialsFile(path: string, credentials: Credentials): void {
  writeJson(path, credentials)
}

/** Writes a single key, under its name in the credentials. Throws a CredentialsFileError. */
export function writeKeyFile(path: string, key: Partial<Credentials>): void {
  writeJson(path, key)
}

function writeJson(path: string, members: object): void {
  try {
    createParentFolder(path)
    writePrivateFile(dirname(path), basename(path), `${JSON.stringify(members, null, 2)}\n`)
  } catch (cause) {
    throw toWriteError(path, cause)
  }
}

/**
 * Reserves a file to be written later, so that an unwritable path fails before a secret is issued
 * for it. Throws a CredentialsFileError, also for an existing file, which may hold the only copy of
 * another secret. Returns a function that releases the reservation.
 */
export function reserveCredentialsFile(path: string): () => void {
  try {
    createParentFolder(path)
    closeSync(openSync(path, 'wx', OWNER_ONLY_MODE))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw toWriteError(path, cause)
    throw new CredentialsFileError(`${path} already exists: name a new file.`, { cause })
  }
  return () => rmSync(path, { force: true })
}

/** Returns null when the file is missing or has other content. */
export function readCredentialsFile(path: string): StoredCredentials | null {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as Partial<Credentials> | null
    const required = [found?.tracker_id, found?.tracker_secret, found?.destination_id]
    return required.every(member => typeof member === 'string')
      ? (found as StoredCredentials)
      : null
  } catch {
    return null
  }
}

/** Fails with ENOTDIR when the path leads through a file. */
function createParentFolder(path: string): void {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true })
}

function toWriteError(path: string, cause: unknown): CredentialsFileError {
  const { code } = cause as NodeJS.ErrnoException
  return new CredentialsFileError(`The credentials cannot be written to ${path} (${code}).`, {
    cause,
  })
}

/** A credential and its line break. Reading stops beyond this. */
const BYTES_MAX = CREDENTIAL_CHARACTERS_MAX + 2

/** The message is one sentence and never contains the token. */
export class PlatformTokenError extends Error {
  override name = 'PlatformTokenError'
}

/**
 * Reads a platform's credential from a file, or from `standardInput` when the path is `-`: a token
 * with one trailing line break, or JSON of a kind that the platform takes. Throws a
 * PlatformTokenError.
 */
export async function readPlatformToken(
  path: string,
  standardInput: AsyncIterable<Buffer>,
  platform: Pick<Platform, 'credentialForms'>,
): Promise<string> {
  const source = path === '-' ? 'standard input' : path
  const stream = path === '-' ? standardInput : createReadStream(path)
  const text = await readBeginning(stream).catch(cause => {
    const { code } = cause as NodeJS.ErrnoException
    throw new PlatformTokenError(`The token cannot be read from ${source} (${code}).`, { cause })
  })
  const token = text.replace(/\r?\n$/, '')
  const isClean = isPlatformToken(token) || token.trimStart().startsWith('{')
  const read = parseCredentialInput(platform, isClean ? token : '')
  if ('text' in read) return read.text
  throw new PlatformTokenError(`There is no token in ${source}: it ${read.problem}.`)
}

/** Decodes as latin1, so that non-ASCII bytes are detected. */
async function readBeginning(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > BYTES_MAX) break
  }
  return Buffer.concat(chunks).toString('latin1')
}

/** Explains why a token is not accepted as an argument, instead of printing the usage. */
export function rejectTokenArgument(argumentList: readonly string[]): void {
  if (!argumentList.some(argument => /^--(access[-_])?token(=|$)/.test(argument))) return
  throw new PlatformTokenError(
    'Do not pass a token as an argument, because arguments appear in the process list and in the ' +
      'shell history: put it into a file, or pipe it in, and name the file or -.',
  )
}
