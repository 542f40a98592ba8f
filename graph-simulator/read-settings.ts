import { EVENTS_MAX_DEFAULT } from './simulator-server.ts'

export interface SimulatorSettings {
  host: string
  port: number
  eventsMax: number
  /** End when standard input ends, since then the process that started us is gone. */
  exitWithParent: boolean
}

const PORT_DEFAULT = 3001
const PORT_MAX = 65_535
/** A Map of event_ids holds no more than about 16 million. */
const EVENTS_MAX_MAX = 10_000_000

/** Reads settings from the environment and flags, or says in one sentence which is wrong. */
export function readSettings(
  environment: Record<string, string | undefined>,
  flags: string[],
): SimulatorSettings | { problem: string } {
  const unknown = flags.find(flag => flag !== '--exit-with-parent')
  if (unknown !== undefined)
    return { problem: `Unknown argument ${unknown}; the only one is --exit-with-parent.` }

  const host = environment.SIMULATOR_HOST || '127.0.0.1'
  const port = readWhole(environment.SIMULATOR_PORT, 0, PORT_MAX) ?? PORT_DEFAULT
  const eventsMax =
    readWhole(environment.SIMULATOR_EVENTS_MAX, 1, EVENTS_MAX_MAX) ?? EVENTS_MAX_DEFAULT
  if (Number.isNaN(port))
    return { problem: `SIMULATOR_PORT must be a whole number from 0 to ${PORT_MAX}.` }
  if (Number.isNaN(eventsMax))
    return { problem: `SIMULATOR_EVENTS_MAX must be a whole number from 1 to ${EVENTS_MAX_MAX}.` }
  return { host, port, eventsMax, exitWithParent: flags.length > 0 }
}

/** The number; NaN when the text is none or out of range; undefined when nothing is set. */
function readWhole(text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined || text === '') return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : Number.NaN
}
