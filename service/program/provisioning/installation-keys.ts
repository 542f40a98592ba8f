import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ContractKeys,
  generateSigningKey,
  type PublicSigningKey,
  readPublicKeys,
  readSigningKey,
  type SigningKey,
} from '@signalbox/contract/signing-key.ts'
import { prepareDataFolder } from '@signalbox/embedded-postgres/data-folder.ts'
import { syncFolder, writePrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import type { Database } from '../../runtime/db/database.ts'
import { isStoreUnavailable } from '../../runtime/db/database-errors.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { type CredentialKeys, openCredential } from '../../runtime/util/sealed-credential.ts'
import { everyDestination } from '../../signals/delivery/credential-store.ts'

type CredentialKeySettings = Pick<
  Settings,
  'credentialKey' | 'credentialKeysPrevious' | 'dataDirectory'
>

/** Loads the current credential key and the previous ones. Throws a CredentialKeyError. */
export function loadCredentialKeys(
  { credentialKey: setting, credentialKeysPrevious, dataDirectory }: CredentialKeySettings,
  whenMissing: MissingKeyPolicy = 'create',
): CredentialKeys {
  return {
    current: loadCredentialKey(setting, dataDirectory, whenMissing),
    previous: credentialKeysPrevious.map(key => Buffer.from(key, 'hex')),
  }
}

/**
 * Loads the credential keys for a process that runs on the store. Throws a CredentialKeyError when
 * they open none of its credentials: with the wrong key every delivery would fail, one by one. A
 * single credential that cannot be opened is no reason, nor is a node that is down.
 */
export async function loadStoreKeys(
  settings: CredentialKeySettings,
  database: Database,
): Promise<CredentialKeys> {
  const keys = loadCredentialKeys(settings)
  try {
    if (await opensCredentials(keys, database)) return keys
  } catch (error) {
    if (isStoreUnavailable(error)) return keys
    throw error
  }
  const name =
    settings.credentialKey === undefined
      ? `The key in ${join(settings.dataDirectory, CREDENTIAL_KEY_FILE)}`
      : 'SIGNALBOX_CREDENTIAL_KEY'
  throw new CredentialKeyError(
    `${name} opens none of the credentials in the store: set SIGNALBOX_CREDENTIAL_KEY to the key ` +
      'that sealed them, name that in SIGNALBOX_CREDENTIAL_KEY_PREVIOUS, or set each credential ' +
      'again with "signalbox-server credential set".',
  )
}

/** If none of so many opens, none will. */
const CREDENTIALS_TRIED_MAX = 1_000

async function opensCredentials(keys: CredentialKeys, database: Database): Promise<boolean> {
  let tried = 0
  for await (const { id, sealedCredential } of everyDestination(database)) {
    if (openCredential(keys, id, sealedCredential) !== null) return true
    tried += 1
    if (tried === CREDENTIALS_TRIED_MAX) break
  }
  return tried === 0
}

const CREDENTIAL_KEY_BYTES = 32
const CREDENTIAL_KEY_FILE = 'credential-key'

/** The message is one sentence and never contains the key. */
export class CredentialKeyError extends Error {
  override name = 'CredentialKeyError'
}

/** A command that only handles credentials must not create a key: no worker would have it. */
type MissingKeyPolicy = 'create' | 'fail'

/**
 * Loads the key that encrypts platform credentials at rest: from the setting, or from the data
 * folder, where the first start creates it (mode 0600). All processes on one store need the same
 * key. Throws a CredentialKeyError.
 */
export function loadCredentialKey(
  setting: string | undefined,
  dataDirectory: string,
  whenMissing: MissingKeyPolicy = 'create',
): Buffer {
  if (setting !== undefined) return Buffer.from(setting, 'hex')
  const path = join(dataDirectory, CREDENTIAL_KEY_FILE)
  if (whenMissing === 'fail' && !existsSync(path)) {
    throw new CredentialKeyError(
      `There is no key in ${path}: set SIGNALBOX_CREDENTIAL_KEY to the one that the workers have.`,
    )
  }
  const key = Buffer.from(readCredentialKeyFile(path, dataDirectory), 'hex')
  if (key.length === CREDENTIAL_KEY_BYTES) return key
  throw new CredentialKeyError(
    `${path} does not hold a key of ${CREDENTIAL_KEY_BYTES} bytes: restore it from a backup.`,
  )
}

function readCredentialKeyFile(path: string, dataDirectory: string): string {
  try {
    return readOrCreateSecret(dataDirectory, CREDENTIAL_KEY_FILE, () =>
      randomBytes(CREDENTIAL_KEY_BYTES).toString('hex'),
    )
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new CredentialKeyError(
      `The key in ${path} cannot be read or created (${code}): let this account write the ` +
        'folder, or set SIGNALBOX_CREDENTIAL_KEY.',
      { cause },
    )
  }
}

const CONTRACT_KEY_FILE = 'contract-key'

/** The message is one sentence and never contains the key. */
export class ContractKeyError extends Error {
  override name = 'ContractKeyError'
}

type ContractKeySettings = Pick<Settings, 'contractKey' | 'contractKeysPrevious' | 'dataDirectory'>

/**
 * Loads the key that signs the served contract: from the setting, or a development key that the
 * first start creates in the data folder (mode 0600). Also loads the previous keys, which stay
 * published. Throws a ContractKeyError.
 */
export async function loadContractKeys(settings: ContractKeySettings): Promise<ContractKeys> {
  const { contractKey, contractKeysPrevious, dataDirectory } = settings
  return {
    current: await (contractKey === undefined
      ? loadDevelopmentKey(dataDirectory)
      : parseReleaseKey(contractKey)),
    others: contractKeysPrevious === undefined ? [] : await parsePreviousKeys(contractKeysPrevious),
  }
}

/** Whether a contract key exists: a command must not make one that nobody has seen. */
export function hasContractKey({ contractKey, dataDirectory }: ContractKeySettings): boolean {
  return contractKey !== undefined || existsSync(join(dataDirectory, CONTRACT_KEY_FILE))
}

async function parseReleaseKey(text: string): Promise<SigningKey> {
  const key = await readSigningKey(text, 'release')
  if (key) return key
  throw new ContractKeyError(
    'SIGNALBOX_CONTRACT_KEY must be an Ed25519 private key, as a JWK or as PKCS#8 in PEM.',
  )
}

async function parsePreviousKeys(text: string): Promise<PublicSigningKey[]> {
  const keys = await readPublicKeys(text)
  if (keys) return keys
  throw new ContractKeyError(
    'SIGNALBOX_CONTRACT_KEY_PREVIOUS must be a JWK set of Ed25519 public keys.',
  )
}

async function loadDevelopmentKey(dataDirectory: string): Promise<SigningKey> {
  const key = await readSigningKey(readContractKeyFile(dataDirectory), 'development')
  if (key) return key
  throw new ContractKeyError(
    `${join(dataDirectory, CONTRACT_KEY_FILE)} does not hold an Ed25519 private key: ` +
      'remove it, and the next start creates another.',
  )
}

function readContractKeyFile(dataDirectory: string): string {
  try {
    return readOrCreateSecret(dataDirectory, CONTRACT_KEY_FILE, generateSigningKey)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ContractKeyError(
      `The key in ${join(dataDirectory, CONTRACT_KEY_FILE)} cannot be read or created (${code}): ` +
        'let this account write the folder, or set SIGNALBOX_CONTRACT_KEY.',
      { cause },
    )
  }
}

/**
 * Reads a secret file in the data folder (mode 0600), trimmed. Creates a missing one with a
 * generated secret. Throws file system errors.
 */
function readOrCreateSecret(dataDirectory: string, file: string, generate: () => string): string {
  const path = join(dataDirectory, file)
  if (!existsSync(path)) createSecretFile(prepareDataFolder(dataDirectory), file, generate())
  return readFileSync(path, 'utf8').trim()
}

/**
 * Writes a temporary file first, so that a crash leaves either no secret or a complete one. Links
 * it to the final name, which fails if that exists, so that concurrent starts agree on one secret.
 */
function createSecretFile(folder: string, file: string, secret: string): void {
  const temporary = `${file}.${randomUUID()}`
  writePrivateFile(folder, temporary, secret)
  try {
    linkSync(join(folder, temporary), join(folder, file))
    syncFolder(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(join(folder, temporary), { force: true })
  }
}
