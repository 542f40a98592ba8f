import { randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { lstat, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CliError } from './cli-error.ts'
import type { CliHost } from './host.ts'

/** A token belongs to the service that it was stored for, and is sent to no other. */
interface StoredCredential {
  base_url: string
  token: string
}

type FileHost = Pick<CliHost, 'environment' | 'homeFolder' | 'userId'>

export function credentialPath({ environment, homeFolder }: FileHost): string {
  const { XDG_CONFIG_HOME, APPDATA } = environment
  const folder = XDG_CONFIG_HOME || APPDATA || join(homeFolder, '.config')
  return join(folder, 'signalbox', 'credentials.json')
}

/** Null when nothing is stored. Throws when others could have read or changed the file. */
export async function readCredential(host: FileHost): Promise<StoredCredential | null> {
  const path = credentialPath(host)
  const file = await lstat(path).catch(nullIfMissing)
  if (file === null) return null
  if (!file.isFile()) throw refuse(path, 'is not a regular file', `Remove it: rm ${path}`)
  await checkOwner(host, path, file)
  const credential = parseCredential(await readFile(path, 'utf8'))
  if (credential) return credential
  throw refuse(path, 'cannot be read', 'Log in again: signalbox auth login')
}

/** Replaces the file in one step, so that it is complete or the old one. */
export async function writeCredential(host: FileHost, credential: StoredCredential): Promise<void> {
  const path = credentialPath(host)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await checkFolder(host, dirname(path))
  const temporary = `${path}.${randomUUID()}`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(credential, null, 2)}\n`)
    await file.sync()
    await file.close()
    await rename(temporary, path)
  } catch (error) {
    await file.close().catch(() => {})
    await rm(temporary, { force: true })
    throw error
  }
}

/** Whether there was a file. */
export async function deleteCredential(host: FileHost): Promise<boolean> {
  const path = credentialPath(host)
  const file = await lstat(path).catch(nullIfMissing)
  if (file === null) return false
  await rm(path)
  return true
}

async function checkOwner(host: FileHost, path: string, file: Stats): Promise<void> {
  if (host.userId === null) return
  if (file.uid !== host.userId)
    throw refuse(path, 'belongs to another user', `Remove it: rm ${path}`)
  if ((file.mode & 0o077) !== 0) {
    const hint = `Replace the token, then: chmod 600 ${path}`
    throw refuse(path, 'can be read by other users', hint)
  }
  await checkFolder(host, dirname(path))
}

/** Who can write to the folder can replace the file. */
async function checkFolder({ userId }: FileHost, folder: string): Promise<void> {
  if (userId === null) return
  const { mode } = await lstat(folder)
  if ((mode & 0o077) === 0) return
  throw refuse(folder, 'is open to other users', `Close it: chmod 700 ${folder}`)
}

function refuse(path: string, reason: string, hint: string): CliError {
  return new CliError('authentication', `${path} ${reason}, so the token in it is not used.`, hint)
}

function parseCredential(text: string): StoredCredential | null {
  try {
    const { base_url, token } = JSON.parse(text)
    return typeof base_url === 'string' && typeof token === 'string' ? { base_url, token } : null
  } catch {
    return null
  }
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
  throw error
}
