import { readFileSync } from 'node:fs'

/**
 * Loaded into a service process with `--import`, before the program. Moves its clocks by what the
 * file says that RELIABILITY_CLOCK_FILE names, so that a campaign can step the clock of one process
 * as a wrong time server does, and let the waits of a retry policy pass. The program is unchanged:
 * it reads `Date` and `process.hrtime` as always. PostgreSQL keeps the clock of the machine.
 */
export interface ClockOffsets {
  /** Added to the time of day. */
  wallSeconds: number
  /** Added to the monotonic clock; never less than before. */
  monotonicSeconds: number
}

const POLL_MILLISECONDS = 50

const path = process.env.RELIABILITY_CLOCK_FILE
if (path !== undefined) moveClocks(path)

function moveClocks(file: string): void {
  let offsets: ClockOffsets = readOffsets(file) ?? { wallSeconds: 0, monotonicSeconds: 0 }
  setInterval(() => {
    offsets = readOffsets(file) ?? offsets
  }, POLL_MILLISECONDS).unref()

  const SystemDate = Date
  const now = () => SystemDate.now() + offsets.wallSeconds * 1_000
  globalThis.Date = new Proxy(SystemDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, toArgs(args, now), newTarget),
    apply: () => new SystemDate(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  })
  const systemTime = process.hrtime.bind(process)
  process.hrtime = Object.assign(
    (earlier?: [number, number]): [number, number] => {
      const [seconds, nanoseconds] = systemTime(earlier)
      return [seconds + (earlier ? 0 : offsets.monotonicSeconds), nanoseconds]
    },
    { bigint: process.hrtime.bigint },
  )
}

function toArgs(args: unknown[], now: () => number): unknown[] {
  return args.length === 0 ? [now()] : args
}

/** Null while the file is being replaced. */
function readOffsets(file: string): ClockOffsets | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}
