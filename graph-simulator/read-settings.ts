import { EVENTS_MAX_DEFAULT } from './simulator-server.ts'

export interface SimulatorSettings {
  host: string
  port: number
  eventsMax: number
  /** Exit when standard input ends, because the parent process is then gone. */
  exitWithParent: boolean
}

const PORT_DEFAULT = 3001
const PORT_MAX = 65_535
/** A Map holds at most about 16 million event_ids. */
const EVENTS_MAX_MAX = 10_000_000

/** Reads the settings from the environment and the flags, or describes the first invalid one. */
export function readSettings(
  environment: Record<string, string | undefined>,
  flags: string[],
): SimulatorSettings | { problem: string } {
  const unknown = flags.find(flag => flag !== '--exit-with-parent')
  if (unknown !== undefined)
    return { problem: `Unknown argument ${unknown}. The only option is --exit-with-parent.` }

  const host = environment.SIMULATOR_HOST || '127.0.0.1'
  const port = parseInteger(environment.SIMULATOR_PORT, 0, PORT_MAX) ?? PORT_DEFAULT
  const eventsMax =
    parseInteger(environment.SIMULATOR_EVENTS_MAX, 1, EVENTS_MAX_MAX) ?? EVENTS_MAX_DEFAULT
  if (Number.isNaN(port))
    return { problem: `SIMULATOR_PORT must be an integer from 0 to ${PORT_MAX}.` }
  if (Number.isNaN(eventsMax))
    return { problem: `SIMULATOR_EVENTS_MAX must be an integer from 1 to ${EVENTS_MAX_MAX}.` }
  return { host, port, eventsMax, exitWithParent: flags.length > 0 }
}

/** NaN when the text is not an integer or is out of range; undefined when it is not set. */
function parseInteger(text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined || text === '') return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : Number.NaN
}
