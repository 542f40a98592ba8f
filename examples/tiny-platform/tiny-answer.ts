import type { SendAnswer, SendOutcome } from '../../service/signals/platforms/platform.ts'
import { toSendError } from '../../service/signals/platforms/send-answer.ts'

/** What the HTTP status of an answer means. The tiny platform has no error codes. */
const OUTCOMES: Record<number, SendOutcome> = {
  204: 'accepted',
  401: 'auth',
  404: 'config',
  422: 'permanent',
  429: 'throttle',
  503: 'retry',
}

const THROTTLE_SECONDS = 60

export function readTinyAnswer(status: number): SendAnswer {
  const outcome = OUTCOMES[status] ?? 'unknown'
  return {
    outcome,
    waitSeconds: outcome === 'throttle' ? THROTTLE_SECONDS : 0,
    httpStatus: status,
    traceId: null,
    answer: { status },
    error:
      outcome === 'accepted'
        ? null
        : toSendError(outcome, {
            message: `It answered ${status}.`,
            http_status: status,
          }),
  }
}

/** Without a connection nothing was sent. After a later failure the events may have arrived. */
export function noTinyAnswer(outcome: 'retry' | 'unknown'): SendAnswer {
  const error = toSendError(outcome, { message: 'It gave no answer.' })
  return { outcome, waitSeconds: 0, httpStatus: null, traceId: null, answer: null, error }
}
