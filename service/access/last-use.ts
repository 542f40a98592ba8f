import type { Database } from '../db/database.ts'
import { touchKey } from './store.ts'

const TOUCH_MILLISECONDS = 60_000
const KEYS_MAX = 10_000

export interface LastUseOptions {
  now: () => Date
  /** The time of last use is kept on the side; a failure there must not fail the request. */
  onTouchError: (error: unknown) => void
}

/** Notes that a key was used, at most once a minute for each key. Nobody waits for it. */
export function lastUse(
  database: Database,
  { now, onTouchError }: LastUseOptions,
): (digest: Buffer) => void {
  const touchedAt = new Map<string, number>()
  return digest => {
    if (isDue(touchedAt, digest.toString('base64'))) {
      touchKey(database, digest, now()).catch(onTouchError)
    }
  }
}

function isDue(touchedAt: Map<string, number>, key: string): boolean {
  const moment = performance.now()
  const last = touchedAt.get(key)
  if (last !== undefined && moment - last < TOUCH_MILLISECONDS) return false
  if (touchedAt.size >= KEYS_MAX) touchedAt.clear()
  touchedAt.set(key, moment)
  return true
}
