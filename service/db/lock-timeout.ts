import type { Database } from './database.ts'
import { setLocally } from './local-settings.ts'

const LOCK_MILLISECONDS_MAX = 500
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Runs `work` in a transaction that waits for each lock for half a second at most, because every
 * statement behind it waits as well. Null when a lock was held longer: nothing has changed then.
 */
export async function withLockTimeout<Result>(
  { query }: Pick<Database, 'query'>,
  work: (transaction: Database['query']) => Promise<Result>,
): Promise<Result | null> {
  try {
    return await query.transaction().execute(async transaction => {
      await setLocally({ query: transaction }, { lock_timeout: LOCK_MILLISECONDS_MAX })
      return await work(transaction)
    })
  } catch (error) {
    if (isLockTimeout(error)) return null
    throw error
  }
}

/** Whether a statement gave up because it waited for a lock longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === LOCK_NOT_AVAILABLE
}
