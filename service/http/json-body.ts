import { isUtf8 } from 'node:buffer'
import { Refusal } from './refusal.ts'

const DEPTH_MAX = 32

/**
 * Reads a JSON body: 400 for what is not UTF-8, not JSON, or nested deeper than any real event.
 * An empty body is `undefined`: several operations have an optional one.
 */
export function readJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw new Refusal(400, 'The body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  const body = parse(text)
  if (depthOf(body, 1) > DEPTH_MAX) {
    throw new Refusal(400, `The body is nested deeper than ${DEPTH_MAX} levels.`)
  }
  return body
}

/** Members that would reach a prototype when somebody copies them are left out. */
function parse(text: string): unknown {
  try {
    return text.includes('"__proto__"') || text.includes('\\u')
      ? JSON.parse(text, (key, value) => (key === '__proto__' ? undefined : value))
      : JSON.parse(text)
  } catch {
    throw new Refusal(400, 'The body is not valid JSON.')
  }
}

/** Stops one level past the limit, so that a hostile body cannot exhaust the stack. */
function depthOf(value: unknown, level: number): number {
  if (typeof value !== 'object' || value === null) return level - 1
  if (level > DEPTH_MAX) return level
  let deepest = level
  for (const member of Object.values(value)) {
    const depth = depthOf(member, level + 1)
    if (depth > deepest) deepest = depth
  }
  return deepest
}
