import type { Database } from '../db/database.ts'
import type { Alert, AlertMove } from './alert.ts'
import { insertAlert, renewAlert } from './alert-store.ts'

export interface AlertContext {
  database: Database
  /** Called once for each alert that is raised or resolved, for the log and for counting. */
  onAlert?: (move: AlertMove) => void
}

/** Each round is lost only to somebody else's alert of the same tracker at the same moment. */
const ROUNDS_MAX = 20

/**
 * Tells people once that something is wrong with a destination. While an alert of the kind is open,
 * raising it again only renews its words; `onAlert` hears of the first time alone. True when new.
 */
export async function raiseAlert(context: AlertContext, alert: Alert, at: Date): Promise<boolean> {
  const { database, onAlert } = context
  const { trackerId, destinationId, kind, sentence } = alert
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if (await renewAlert(database, alert)) return false
    if (!(await insertAlert(database, alert, at))) continue
    onAlert?.({ trackerId, destinationId, kind, move: 'raised', sentence })
    return true
  }
  throw new Error('an alert could not be stored: others of its tracker came before it each time')
}
