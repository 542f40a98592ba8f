import type { Database } from '../db/database.ts'
import { touchKeys, type UsedKey } from './store.ts'

const TOUCH_MILLISECONDS = 60_000
const KEYS_MAX = 10_000
const BATCH_KEYS_MAX = 1_000

export interface LastUseOptions {
  now: () => Date
  /** The time of last use is kept on the side; a failure there must not fail the request. */
  onTouchError: (error: unknown) => void
}

/**
 * Notes that a key was used, at most once a minute for each key. No request waits. One statement
 * is under way at a time, with all keys that came since: a thousand trackers that begin at once
 * must not take the connections of those whose requests wait.
 */
export function lastUse(
  database: Database,
  { now, onTouchError }: LastUseOptions,
): (key: UsedKey) => void {
  const touchedAt = new Map<string, number>()
  /** By key, since a statement may not write a row twice. */
  const due = new Map<string, UsedKey>()
  let isWriting = false
  const write = async () => {
    isWriting = true
    while (due.size > 0) {
      const batch = [...due].slice(0, BATCH_KEYS_MAX)
      for (const [text] of batch) due.delete(text)
      const keys = batch.map(([, key]) => key)
      await touchKeys(database, keys, now()).catch(onTouchError)
    }
    isWriting = false
  }
  return key => {
    const text = key.digest.toString('base64')
    if (!isDue(touchedAt, text)) return
    due.set(text, key)
    if (!isWriting) write()
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
