import { type Answer, jsonAnswer } from './answer.ts'
import { invalidAnswer } from './control-answer.ts'
import { readOtherEvents } from './read-other-events.ts'
import type { SimulatorState } from './simulator-state.ts'
import { readStatsOptions, STATS_OPTIONS_DEFAULT } from './stats-options.ts'

/** GET /_simulator/stats: how the stats edge counts. */
export function showStats(state: SimulatorState): Answer {
  return jsonAnswer(200, state.stats)
}

/** POST /_simulator/stats: counts in another way from now on, also what came before. */
export function replaceStats(state: SimulatorState, { body }: { body: unknown }): Answer {
  const reading = readStatsOptions(body)
  if ('errors' in reading) return invalidAnswer(reading.errors)
  state.stats = reading.options
  return showStats(state)
}

/** DELETE /_simulator/stats: counts as at the start. */
export function resetStats(state: SimulatorState): Answer {
  state.stats = STATS_OPTIONS_DEFAULT
  return showStats(state)
}

/** POST /_simulator/other-events: the platform gets events from somebody else. */
export function addOtherEvents(state: SimulatorState, { body }: { body: unknown }): Answer {
  const now = state.now()
  const reading = readOtherEvents(body, now)
  if ('errors' in reading) return invalidAnswer(reading.errors)
  const { source, events } = reading.others
  let added = 0
  for (const event of events) {
    if (source === 'server') state.counts.countServer(event, now, true)
    else state.counts.countBrowser(event, now)
    added += event.count
  }
  return jsonAnswer(200, { added })
}

/** DELETE /_simulator/other-events: as if nobody else had given anything. */
export function forgetOtherEvents(state: SimulatorState): Answer {
  state.counts.forgetOthers()
  return jsonAnswer(200, { added: 0 })
}
