/** Longer than any member that we know; a longer name is not worth folding. */
const NAME_LENGTH_MAX = 40

/**
 * Folds a member's name so that `ad_user_data`, `adUserData`, `AD-USER-DATA` and `Ad User Data`
 * are the same member. A name too long to be known folds to the empty text.
 */
export function foldMemberName(name: string): string {
  if (name.length > NAME_LENGTH_MAX) return ''
  const known = foldedNames.get(name)
  if (known !== undefined) return known
  const folded = name.replace(/[-_\s]/g, '').toLowerCase()
  if (foldedNames.size >= FOLDED_NAMES_MAX) foldedNames.clear()
  if (REMEMBERED_NAME.test(name)) foldedNames.set(name, folded)
  return folded
}

/**
 * Each member of `consent` is folded two or three times, and callers send the same few. Only names
 * of letters are remembered, so that no identifier is.
 */
const foldedNames = new Map<string, string>()
const FOLDED_NAMES_MAX = 1_000
const REMEMBERED_NAME = /^[a-z][a-z_-]*$/i
