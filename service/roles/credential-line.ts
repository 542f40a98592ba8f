import { formatTarget } from '../delivery/destination-resource.ts'
import type { Destination } from '../delivery/destination-store.ts'
import { type CredentialKeys, openCredential } from '../delivery/sealed-credential.ts'

/** Ids have one length, and no dataset ID is longer than this. */
const WIDTHS = [36, 36, 20, 8, 8]
const REASON_CHARACTERS_MAX = 200

export const CREDENTIAL_HEAD = line(['DESTINATION', 'TRACKER', 'TARGET', 'STATUS', 'KEY', 'REASON'])

/** One destination in columns: where it sends, whether it works, and which key opens it. */
export function credentialLine(keys: CredentialKeys, destination: Destination): string {
  const { id, trackerId, config, status, statusReason, sealedCredential } = destination
  const key = openCredential(keys, id, sealedCredential)?.key ?? 'none'
  return line([id, trackerId, formatTarget(config), status, key, plainText(statusReason ?? '')])
}

function line(cells: readonly string[]): string {
  return `${cells
    .map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0))
    .join('  ')
    .trimEnd()}\n`
}

/** The reason is the platform's text: it must neither break the line nor steer the terminal. */
function plainText(text: string): string {
  return text.replaceAll(/\p{C}+/gu, ' ').slice(0, REASON_CHARACTERS_MAX)
}
