import { join } from 'node:path'
import {
  type ContractKeys,
  newSigningKey,
  type PublicSigningKey,
  readPublicKeys,
  readSigningKey,
  type SigningKey,
} from '@signalbox/contract/signing-key.ts'
import type { Settings } from '../settings/settings.ts'
import { keptSecret } from './kept-secret.ts'

const FILE = 'contract-key'

/** A key of the contract cannot be read or kept; the message is a sentence without the key. */
export class ContractKeyError extends Error {
  override name = 'ContractKeyError'
}

type KeySettings = Pick<Settings, 'contractKey' | 'contractKeysPrevious' | 'dataDirectory'>

/**
 * What the served contract is signed with: the setting, or a development key that the first start
 * makes in the data folder (mode 0600); and the other keys that are published beside it. Throws a
 * ContractKeyError.
 */
export async function contractKeys(settings: KeySettings): Promise<ContractKeys> {
  const { contractKey, contractKeysPrevious, dataDirectory } = settings
  return {
    current: await (contractKey === undefined
      ? developmentKey(dataDirectory)
      : releaseKey(contractKey)),
    others: contractKeysPrevious === undefined ? [] : await otherKeys(contractKeysPrevious),
  }
}

async function releaseKey(text: string): Promise<SigningKey> {
  const key = await readSigningKey(text, 'release')
  if (key) return key
  throw new ContractKeyError(
    'SIGNALBOX_CONTRACT_KEY must be an Ed25519 private key, as a JWK or as PKCS#8 in PEM.',
  )
}

async function otherKeys(text: string): Promise<PublicSigningKey[]> {
  const keys = await readPublicKeys(text)
  if (keys) return keys
  throw new ContractKeyError(
    'SIGNALBOX_CONTRACT_KEY_PREVIOUS must be a JWK set of Ed25519 public keys.',
  )
}

async function developmentKey(dataDirectory: string): Promise<SigningKey> {
  const key = await readSigningKey(keptText(dataDirectory), 'development')
  if (key) return key
  throw new ContractKeyError(
    `${join(dataDirectory, FILE)} does not hold an Ed25519 private key: remove it, and the next ` +
      'start makes another one.',
  )
}

function keptText(dataDirectory: string): string {
  try {
    return keptSecret(dataDirectory, FILE, newSigningKey)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ContractKeyError(
      `The key in ${join(dataDirectory, FILE)} cannot be read or made (${code}): let this ` +
        'account write the folder, or set SIGNALBOX_CONTRACT_KEY.',
      { cause },
    )
  }
}
