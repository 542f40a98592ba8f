import { isDeepStrictEqual } from 'node:util'

/** Throws what was expected and what came when they differ; the story ends there. */
export function expect(what: string, found: unknown, expected: unknown): void {
  if (isDeepStrictEqual(found, expected)) return
  throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
}
