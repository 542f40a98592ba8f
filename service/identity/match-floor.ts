/** Key sets too broad to point at a person. Meta refuses them since v13 (100/2804050). */
const TOO_BROAD = [
  ['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent'],
  ['db', 'client_user_agent'],
  ['fn', 'ge'],
  ['ln', 'ge'],
].map(keys => new Set(keys))

/**
 * Whether these `user_data` keys are enough for Meta to look for a person at all: the keys must
 * not all lie within one of the too-broad sets ("Best Practices - Conversions API"). One refused
 * event costs its whole batch, so this is asked before sending. No keys at all are not enough.
 */
export function meetsMatchingFloor(keys: string[]): boolean {
  return !TOO_BROAD.some(tooBroad => keys.every(key => tooBroad.has(key)))
}
