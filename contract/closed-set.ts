/**
 * A stored text that is not in its closed set: an earlier or a later version wrote it. It is an
 * object, so code that expects a member of the set does not compile until it handles this case.
 */
export interface Unrecognized {
  readonly unrecognized: string
}

/** A member of a closed set as the store has it. */
export type Stored<Member extends string> = Member | Unrecognized

/** Reads a stored text. A text outside the set is kept as it is, and marked. */
export function parseStored<Member extends string>(
  members: readonly Member[],
  text: string,
): Stored<Member> {
  return isMember(members, text) ? text : { unrecognized: text }
}

export function isMember<Member extends string>(
  members: readonly Member[],
  text: string,
): text is Member {
  return (members as readonly string[]).includes(text)
}

export function isRecognized<Member extends string>(value: Stored<Member>): value is Member {
  return typeof value === 'string'
}

/**
 * The text as it is stored, for an answer: a reader of a later version knows what this version
 * passes on. The only place where such a text has the type of the set.
 */
export function storedText<Member extends string>(value: Stored<Member>): Member {
  return isRecognized(value) ? value : (value.unrecognized as Member)
}

/** The keys of a table that has one row for each member of a set. */
export function keysOf<Member extends string>(table: Readonly<Record<Member, unknown>>): Member[] {
  return Object.keys(table) as Member[]
}
