/** Names asked for, each with what is asked for below it; null: whatever there is. */
export interface FieldTree {
  [name: string]: FieldTree | null
}

const CHARACTERS_MAX = 10_000
const DEPTH_MAX = 10
const TOKENS = /[A-Za-z0-9_]+|[{},]/g
const WELL_FORMED = /^[A-Za-z0-9_{},\s]+$/

/**
 * Reads Graph's field expansion, such as `web{event_name,acr{percentage}}` (Graph API "Field
 * Expansion"). Undefined when it is none.
 */
export function readFieldExpression(text: string): FieldTree | undefined {
  if (text.length > CHARACTERS_MAX || !WELL_FORMED.test(text)) return undefined
  const tokens = text.match(TOKENS) ?? []
  const reading = { tokens, at: 0 }
  const tree = readNames(reading, 0)
  return reading.at === tokens.length ? tree : undefined
}

/** The first name that `known` does not have in that place; undefined when it has them all. */
export function unknownField(asked: FieldTree, known: FieldTree): string | undefined {
  for (const [name, below] of Object.entries(asked)) {
    if (!Object.hasOwn(known, name)) return name
    const unknown = below && unknownField(below, known[name] ?? {})
    if (unknown) return unknown
  }
  return undefined
}

/** The value with only the members that were asked for; lists are walked through. */
export function selectFields(value: unknown, asked: FieldTree | null): unknown {
  if (asked === null || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => selectFields(item, asked))
  const members = Object.entries(value).filter(([name]) => Object.hasOwn(asked, name))
  return Object.fromEntries(
    members.map(([name, member]) => [name, selectFields(member, asked[name] ?? null)]),
  )
}

interface Reading {
  tokens: string[]
  at: number
}

/** `name`, `name{...}`, with commas between; undefined at the first thing that is out of place. */
function readNames(reading: Reading, depth: number): FieldTree | undefined {
  if (depth > DEPTH_MAX) return undefined
  const tree: FieldTree = Object.create(null)
  while (true) {
    const name = reading.tokens[reading.at++]
    if (name === undefined || !/^\w+$/.test(name)) return undefined
    tree[name] = null
    if (reading.tokens[reading.at] === '{') {
      reading.at++
      const below = readNames(reading, depth + 1)
      if (!below || reading.tokens[reading.at++] !== '}') return undefined
      tree[name] = below
    }
    if (reading.tokens[reading.at] !== ',') return tree
    reading.at++
  }
}
