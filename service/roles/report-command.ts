import { parseArgs } from 'node:util'
import { isCalendarDay } from '../util/calendar-day.ts'
import { requireId } from './credential-command.ts'
import { StartError } from './start-error.ts'

/** What `report` is asked to show. */
export interface ReportCommand {
  /** UTC day, YYYY-MM-DD. */
  date: string
  /** Null: every tracker of the store. */
  trackerId: string | null
  /** Ask the platform now, and keep what it says. */
  refresh: boolean
}

const USAGE = 'Usage: npm run report -- --date YYYY-MM-DD [--tracker ID] [--refresh]'

/** Throws a StartError: how the command is used, or which option is wrong. */
export function reportCommand(argumentList: readonly string[]): ReportCommand {
  const { date, tracker, refresh = false } = reportOptions(argumentList)
  if (date === undefined) throw new StartError(USAGE)
  if (!isCalendarDay(date))
    throw new StartError(`--date takes a day such as 2026-11-20, not ${date}.`)
  const trackerId = tracker === undefined ? null : requireId('--tracker', tracker)
  return { date, trackerId, refresh }
}

function reportOptions(argumentList: readonly string[]) {
  try {
    return parseArgs({
      args: [...argumentList],
      options: {
        date: { type: 'string' },
        tracker: { type: 'string' },
        refresh: { type: 'boolean' },
      },
    }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}
