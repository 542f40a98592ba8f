import { COLUMN_DICTIONARIES } from '../../service/signals/events/column-dictionaries.ts'

/** The phrases that the version before identity marks knows. */
const PHRASES = COLUMN_DICTIONARIES.userData.slice(0, 30)
const CODES = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

interface StoredIdentity {
  digests?: Record<string, string[]>
  plain?: Record<string, string | 0>
}

/**
 * Reads the identity in `event_payloads.user_data` like the version before identity marks, which
 * still sends events while processes of this version accept them.
 */
export function readIdentityLikeEarlierVersion(stored: string): Required<StoredIdentity> {
  const text = stored.replace(/~.|'/g, code => {
    if (code === "'") return '"'
    if (code === "~'" || code === '~~') return code.slice(1)
    const phrase = PHRASES[CODES.indexOf(code.slice(1))]
    if (phrase === undefined) throw new Error(`the earlier version does not know ${code}`)
    return phrase
  })
  const { digests = {}, plain = {} } = JSON.parse(text) as StoredIdentity
  const hexadecimal = Object.entries(digests).map(([key, values]) => [
    key,
    values.map(value => Buffer.from(value, 'base64url').toString('hex')),
  ])
  return { digests: Object.fromEntries(hexadecimal), plain }
}
