import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { writePrivateFile } from '@signalbox/embedded-postgres/private-file.ts'

/** What a newcomer, a script or a test needs to use one tracker. */
export interface Credentials {
  base_url: string
  tracker_id: string
  tracker_secret: string
  /** For browsers; it is no secret. */
  publishable_key: string
  /** With which a same-origin forwarder signs. */
  forwarding_secret: string
  destination_id: string
  /** Null when deliveries go to a real platform. */
  simulator_url: string | null
  workspace_id: number
  /** Null in a workspace without one. */
  ad_account_id: number | null
  /** Who signs in at the origin of `base_url`; null when the workspace has owners of its own. */
  owner_email: string | null
  /** Their first password; null when they chose it. */
  owner_password: string | null
  /** With which an agent may propose changes for the ad account; null without an owner. */
  execution_token: string | null
}

/** As found: a file of an earlier version knows nothing of browsers and people. */
export type StoredCredentials = Omit<Credentials, OptionalCredential> &
  Partial<Pick<Credentials, OptionalCredential>>
type OptionalCredential =
  | ('publishable_key' | 'forwarding_secret')
  | ('workspace_id' | 'ad_account_id' | 'owner_email' | 'owner_password')
  | 'execution_token'

export class CredentialsFileError extends Error {
  override name = 'CredentialsFileError'
}

const OWNER_ONLY_MODE = 0o600

/**
 * Writes the file whole or not at all, readable by its owner alone. Throws a CredentialsFileError,
 * one sentence that names the path.
 */
export function writeCredentialsFile(path: string, credentials: Credentials): void {
  writeJson(path, credentials)
}

/** A single key, under the name that it has among the credentials. Throws as the other does. */
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
 * Takes the place of a file that will be written later, so that a place that cannot be written is
 * heard of before a secret is issued for it. Throws a CredentialsFileError, also when something is
 * there already: it may hold the only copy of another secret. Returns the way back.
 */
export function reserveCredentialsFile(path: string): () => void {
  try {
    createParentFolder(path)
    closeSync(openSync(path, 'wx', OWNER_ONLY_MODE))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw toWriteError(path, cause)
    throw new CredentialsFileError(`${path} is there already: name a file that is not.`, { cause })
  }
  return () => rmSync(path, { force: true })
}

/** What the file says, or null when it is missing or says something else. */
export function readCredentialsFile(path: string): StoredCredentials | null {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as Partial<Credentials> | null
    const needed = [found?.tracker_id, found?.tracker_secret, found?.destination_id]
    return needed.every(member => typeof member === 'string') ? (found as StoredCredentials) : null
  } catch {
    return null
  }
}

/** A path that leads through a file is then refused as what it is, ENOTDIR. */
function createParentFolder(path: string): void {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true })
}

function toWriteError(path: string, cause: unknown): CredentialsFileError {
  const { code } = cause as NodeJS.ErrnoException
  return new CredentialsFileError(`The credentials cannot be written to ${path} (${code}).`, {
    cause,
  })
}
