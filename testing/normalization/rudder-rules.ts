import { type NormalizationCase, type Outcome, UNSUPPORTED } from './cases.ts'

type Rule = (text: string) => string | null

const keep: Rule = text => text
const lower: Rule = text => text.toLowerCase()
const trimLower: Rule = text => text.trim().toLowerCase()

/**
 * The normalization of RudderStack's transformer before SHA-256, according to its mapping. No
 * registry has the project, so it was read and not run. A digest is hashed again, unless the
 * integration is set to hashed values.
 */
const RULES: Record<string, Rule> = {
  em: trimLower,
  fn: trimLower,
  ln: trimLower,
  ph: keep,
  db: keep,
  external_id: keep,
  ct: lower,
  st: lower,
  zp: lower,
  country: lower,
  ge: normalizeGender,
}

export function applyRudderRule({ field, input }: NormalizationCase): Outcome {
  const rule = RULES[field]
  if (rule === undefined) return UNSUPPORTED
  return input === '' ? null : rule(String(input))
}

function normalizeGender(text: string): string | null {
  const word = text.toUpperCase()
  if (['FEMALE', 'F', 'WOMAN'].includes(word)) return 'f'
  return ['MALE', 'M', 'MAN'].includes(word) ? 'm' : null
}
