import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import type { Settings } from '../settings/settings.ts'
import { credentialKey, type WhenMissing } from './credential-key.ts'

type KeySettings = Pick<Settings, 'credentialKey' | 'credentialKeysPrevious' | 'dataDirectory'>

/** The key of this installation and those that it had before. Throws a CredentialKeyError. */
export function credentialKeys(
  { credentialKey: setting, credentialKeysPrevious, dataDirectory }: KeySettings,
  whenMissing: WhenMissing = 'make',
): CredentialKeys {
  return {
    current: credentialKey(setting, dataDirectory, whenMissing),
    previous: credentialKeysPrevious.map(key => Buffer.from(key, 'hex')),
  }
}
