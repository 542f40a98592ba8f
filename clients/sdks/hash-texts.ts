import { getExampleNumber } from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { hash } from './typescript/src/sdk.ts'

export interface HashVector {
  helper: string
  input: string
  sha256: string | null
}

const HELPERS = { email: hash.email, phone: hash.phone, external_id: hash.externalId }
const TEXTS = 6_000

/** Letters, marks, Hangul, ligatures, full width, sigmas and what the rules treat apart. */
const ALPHABET = [
  ...'abzABZ019 .-_+@"<>();:\'/,\\~|\u00a0\u0085\u3000\ufeff\u200b\u2028',
  ...'éÉßıİſΣσςΑάΐ\u03f4Dždzﬁﬀ㎏½²①㈱℡ａＢ＠．＋０アｱｶﾞ가각한\u1112\u1161\u11ab',
  ...'\u0300\u0301\u0308\u0323\u0327\u0345\u05b0\u05bc\u064e\u0651\u094d\u3099\u0344\u0958',
  ...'\u2126\u212b\u1e9e\u1ef0\u01d5\u0f73\u0f81\ufb2c\ufdfa\uf900\u{1d400}\u{1d15e}\u{11099}',
  ...'\u{110ba}\u{2f800}\u{1f600}\u{1e921}\u10a0\u13a0\u1c90\u00b4\u00a8\u1fc1\u02d8\ue000\u0378',
]

/** Digests of the TypeScript client of texts in every script, for the other clients. */
export async function createHashVectors(): Promise<HashVector[]> {
  const vectors: HashVector[] = []
  for (const input of [...randomTexts(TEXTS), ...everyCharacter(), ...phoneNumbers()]) {
    for (const [helper, digest] of Object.entries(HELPERS)) {
      vectors.push({ helper, input, sha256: await digest(input) })
    }
  }
  return vectors
}

/** The same in each run. Most have the form of an address, so that many are digested. */
function randomTexts(count: number): string[] {
  let state = 20_261_123
  const next = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const text = (characters: number) =>
    Array.from({ length: 1 + next(characters) }, () => ALPHABET[next(ALPHABET.length)]).join('')
  return Array.from({ length: count }, () =>
    next(3) === 0 ? text(14) : `${text(8)}@${text(4)}x.example`,
  )
}

/** Every assigned character between letters, in texts that fit the longest input. */
function everyCharacter(): string[] {
  const texts: string[] = []
  let text = ''
  for (let code = 0xa0; code <= 0x2_fa_1f; code += 1) {
    const character = String.fromCodePoint(code)
    if (!/[\p{L}\p{M}\p{N}]/u.test(character)) continue
    // Hangul and ideographs are many and alike.
    const isAlike = /[\u4e00-\u9fff\uac00-\ud7a3]|[\u{17000}-\u{1b2ff}]|[\u{20000}-\u{2f7ff}]/u
    if (isAlike.test(character) && code % 97 !== 0) continue
    text += `a${character}\u0301`
    if (text.length < 200) continue
    texts.push(text, `${text.slice(0, 200)}@example.com`)
    text = ''
  }
  return texts
}

/** A number of every country, in each form in which it may be sent. */
export function phoneNumbers(): string[] {
  const countries = Object.keys(examples) as Parameters<typeof getExampleNumber>[0][]
  return countries.flatMap(country => {
    const number = getExampleNumber(country, examples)
    if (!number) return []
    const code = `+${number.countryCallingCode}`
    return [
      number.formatInternational(),
      number.number,
      number.number.replace('+', '00'),
      `tel:${number.number}`,
      `${code} (0)${number.nationalNumber}`,
      `${code} 0${number.nationalNumber}`,
    ]
  })
}
