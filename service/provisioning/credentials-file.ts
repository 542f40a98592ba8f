import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** What a newcomer, a script or a test needs to use one tracker. */
export interface Credentials {
  base_url: string
  tracker_id: string
  tracker_secret: string
  destination_id: string
  /** Null when deliveries go to a real platform. */
  simulator_url: string | null
}

const OWNER_ONLY = 0o600

/**
 * Writes the file whole or not at all, readable by its owner alone: first beside its place, then
 * moved there. Throws one sentence that names the path.
 */
export function writeCredentialsFile(path: string, credentials: Credentials): void {
  const draft = `${path}.${randomUUID()}`
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(draft, `${JSON.stringify(credentials, null, 2)}\n`, { mode: OWNER_ONLY })
    chmodSync(draft, OWNER_ONLY)
    renameSync(draft, path)
  } catch (cause) {
    rmSync(draft, { force: true })
    const { code } = cause as NodeJS.ErrnoException
    throw new CredentialsFileError(`The credentials cannot be written to ${path} (${code}).`, {
      cause,
    })
  }
}

export class CredentialsFileError extends Error {
  override name = 'CredentialsFileError'
}
