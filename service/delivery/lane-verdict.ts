import type { SendAnswer } from '../platforms/send-outcome.ts'

/** What a run says about its lane, as opposed to its events. */
export type LaneVerdict =
  /** `waitSeconds`: the platform works but asks us to slow down; mostly 0. */
  | { kind: 'works'; waitSeconds: number }
  /** The platform refuses the credential or the set-up: the destination becomes inactive. */
  | { kind: 'refused'; reason: string }
  /** This process cannot open the stored credential; another one may. */
  | { kind: 'unreadable'; reason: string }
  | { kind: 'throttled'; waitSeconds: number }
  /** No usable answer, or one that says "later". */
  | { kind: 'unreachable'; waitSeconds: number }
  /** Nothing was sent, so nothing is known. */
  | { kind: 'untried' }

const PROBE_SECONDS_MIN = 60
const PROBE_SECONDS_MAX = 3_600

/** The last answer decides: after a refusal of the lane nothing more was sent. */
export function laneVerdict(lastAnswer: SendAnswer | null): LaneVerdict {
  if (lastAnswer === null) return { kind: 'untried' }
  const { outcome, waitSeconds } = lastAnswer
  switch (outcome) {
    case 'accepted':
    case 'permanent':
      return { kind: 'works', waitSeconds }
    case 'auth':
    case 'config':
      return { kind: 'refused', reason: refusalReason(lastAnswer) }
    case 'throttle':
      return { kind: 'throttled', waitSeconds }
    case 'retry':
    case 'unknown':
      return { kind: 'unreachable', waitSeconds }
  }
}

/** How long to wait before an inactive destination is tried again with a single event. */
export function probeWaitSeconds(failedProbes: number): number {
  return Math.min(PROBE_SECONDS_MIN * 2 ** Math.min(failedProbes, 10), PROBE_SECONDS_MAX)
}

function refusalReason({ outcome, error }: SendAnswer): string {
  const what = outcome === 'auth' ? 'refuses the credential' : 'refuses the set-up'
  const code = error?.code === null || error?.code === undefined ? '' : ` (code ${error.code})`
  return `The platform ${what}${code}: ${error?.user_message || error?.message || 'no reason'}`
}
