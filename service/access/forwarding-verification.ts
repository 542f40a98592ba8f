import { BriefCache } from '../db/brief-cache.ts'
import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import {
  FORWARDING_WINDOW_SECONDS,
  type Forwarding,
  forwardingFault,
  isSignedBy,
} from './forwarding-signature.ts'
import { rememberSignature } from './forwarding-store.ts'
import { KEY_CACHE } from './known-tokens.ts'
import { listLiveKeys, type UsedKey } from './store.ts'

export interface VerificationOptions {
  now: () => Date
  onUsed: (key: UsedKey) => void
}

/**
 * Refuses what can be refused before the body is there, and returns what is to be asked of its
 * bytes. Every refusal is a 401 that says why: a forwarder that signs wrongly must not lose its
 * visitors' addresses in silence.
 */
export type VerifyForwarding = (
  trackerId: string,
  forwarding: Forwarding,
) => (body: Buffer) => Promise<void>

export function forwardingVerification(
  database: Database,
  { now, onUsed }: VerificationOptions,
): VerifyForwarding {
  const secrets = new BriefCache(
    async (trackerId: string) =>
      (await listLiveKeys(database, trackerId, 'forwarding')).map(key => key.key_digest),
    KEY_CACHE,
  )

  return (trackerId, forwarding) => {
    const fault = forwardingFault(forwarding, now())
    if (fault !== null) throw refused(fault)

    return async body => {
      // All of them are tried, so that the time taken does not tell which one fits.
      const fitting = (await secrets.get(trackerId)).filter(digest =>
        isSignedBy(digest, forwarding, body),
      )
      if (!fitting[0]) throw refused(WRONG_SIGNATURE)
      onUsed({ trackerId, digest: fitting[0] })
      if (!(await isNew(database, trackerId, forwarding))) throw refused(REPLAYED)
    }
  }
}

const WRONG_SIGNATURE =
  "The forwarding signature fits no live forwarding secret of the key's tracker: check the " +
  'secret, and that the body is forwarded byte for byte.'
const REPLAYED =
  'This forwarded request has come before, and a replay is refused: sign each request anew.'

function isNew(
  database: Database,
  trackerId: string,
  { forwardedAt, signature }: Forwarding,
): Promise<boolean> {
  const at = Number(forwardedAt) * 1_000
  return rememberSignature(database, {
    trackerId,
    signature: Buffer.from(signature, 'hex'),
    forwardedAt: new Date(at),
    forgetBefore: new Date(at - OUT_OF_TIME_MILLISECONDS),
  })
}

/**
 * This request is at most one window ahead of our clock, and what we would still take is at most
 * one behind; the third is for processes whose clocks differ.
 */
const OUT_OF_TIME_MILLISECONDS = 3 * FORWARDING_WINDOW_SECONDS * 1_000

function refused(sentence: string): Refusal {
  return Refusal.unauthenticated(sentence)
}
