/** Longer than any member that we know; a longer name is not worth folding. */
const NAME_LENGTH_MAX = 40

/**
 * Folds a member's name so that `ad_user_data`, `adUserData`, `AD-USER-DATA` and `Ad User Data`
 * are the same member. A name too long to be known folds to the empty text.
 */
export function foldMemberName(name: string): string {
  if (name.length > NAME_LENGTH_MAX) return ''
  return name.replace(/[-_\s]/g, '').toLowerCase()
}
