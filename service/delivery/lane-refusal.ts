import type { SendAnswer } from '../platforms/send-outcome.ts'
import type { SentBatch } from './send-events.ts'

/** What a sent batch says about its lane, as opposed to its events. */
export type LaneVerdict =
  | { kind: 'works' }
  | { kind: 'refused'; reason: string }
  | { kind: 'throttled'; waitSeconds: number }
  | { kind: 'unclear' }

const PROBE_SECONDS_MIN = 60
const PROBE_SECONDS_MAX = 3_600

/** The last answer decides: after a refusal of the lane nothing more was sent. */
export function laneVerdict({ requests }: SentBatch): LaneVerdict {
  const last: SendAnswer | undefined = requests.at(-1)?.result
  switch (last?.outcome.kind) {
    case 'accepted':
    case 'permanent':
      return { kind: 'works' }
    case 'auth':
    case 'config':
      return { kind: 'refused', reason: refusalReason(last) }
    case 'throttle':
      return { kind: 'throttled', waitSeconds: last.outcome.waitSeconds }
    case 'retry':
    case 'unknown':
    case undefined:
      return { kind: 'unclear' }
  }
}

/** How long to wait before an inactive destination is tried again with a single event. */
export function probeWaitSeconds(failedProbes: number): number {
  return Math.min(PROBE_SECONDS_MIN * 2 ** Math.min(failedProbes, 10), PROBE_SECONDS_MAX)
}

function refusalReason({ outcome, error }: SendAnswer): string {
  const what = outcome.kind === 'auth' ? 'refuses the credential' : 'refuses the set-up'
  const code = error?.code === null || error?.code === undefined ? '' : ` (code ${error.code})`
  return `The platform ${what}${code}: ${error?.user_message ?? error?.message ?? 'no reason'}`
}
