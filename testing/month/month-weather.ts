import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import type { SeededChoices } from '../seeded-choices.ts'

/** How the platform takes events at one moment. */
export interface Weather {
  /**
   * - fine: it takes them and says so.
   * - down: it takes nothing.
   * - unanswered: it takes them, some or all, and nobody hears of it.
   */
  sky: 'fine' | 'down' | 'unanswered'
  rules: readonly FaultRule[]
  /** The answer comes, but later than anybody waits for it. */
  isSlow?: boolean
}

export const FINE: Weather = { sky: 'fine', rules: [] }

/** It says so itself: nobody needs to wonder whether it has the events. */
const REFUSING: readonly FaultRule[] = [
  { respond: { status: 503, code: 2, is_transient: true } },
  { respond: { status: 500, code: 1 } },
  { respond: { status: 400, code: 4 } },
  { respond: { status: 429, body: '', headers: { 'retry-after': '120' } } },
]

/** Nothing arrives, and the sender cannot know. */
const SILENT: readonly FaultRule[] = [
  { abort: 'before_response' },
  { respond: { status: 502, body: '<html>Bad Gateway</html>' } },
  { respond: { status: 200, body: '{"events_rec' } },
]

/** All of it arrives, and the sender cannot know. */
const CUT_OFF: readonly FaultRule[] = [{ abort: 'after_store' }, { truncate: 0 }, { truncate: 20 }]

/** A part of it arrives, and the sender cannot know. */
const CUT_IN_TWO: readonly FaultRule[] = [
  { keep_events: 2, abort: 'after_store' },
  { keep_events: 5, truncate: 10 },
]

const LATE_MILLISECONDS = 3_000

export function outage(choices: SeededChoices): Weather {
  return { sky: 'down', rules: [choices.pick([...REFUSING, ...SILENT])] }
}

/** An outage of which the sender knows that nothing arrives. */
export function plainOutage(choices: SeededChoices): Weather {
  return { sky: 'down', rules: [choices.pick(REFUSING)] }
}

export function cutOff(choices: SeededChoices): Weather {
  return { sky: 'unanswered', rules: [choices.pick(CUT_OFF)] }
}

export function cutSomewhere(choices: SeededChoices): Weather {
  return { sky: 'unanswered', rules: [choices.pick([...CUT_OFF, ...CUT_IN_TWO])] }
}

/** The platform takes everything and answers too late. */
export const TOO_SLOW: Weather = {
  sky: 'unanswered',
  rules: [{ delay_ms: LATE_MILLISECONDS }],
  isSlow: true,
}
