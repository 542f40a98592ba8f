import type { OutboundEvent, Platform, PlatformTarget } from '../platforms/platform.ts'
import type { SendAnswer } from '../platforms/send-outcome.ts'

export interface Sending {
  event: OutboundEvent
  id: number
}

/** One request that was made, and the deliveries whose fate it decides. */
export interface SentRequest {
  startedAt: Date
  durationMilliseconds: number
  eventCount: number
  result: SendAnswer
  decided: readonly Sending[]
}

export interface Sender {
  platform: Platform
  target: PlatformTarget
  now: () => Date
  /** False once the lease is too short for another request. */
  mayStart: () => boolean
}

export interface SentBatch {
  requests: SentRequest[]
  /** Not handed over, because the lease ran short; somebody else takes them up. */
  unsent: readonly Sending[]
}

/**
 * Sends a batch. When the platform refuses it for its content, the batch is halved until the
 * guilty events stand alone, and the rest go through: at most two requests a level, so a batch of
 * a thousand with one bad event takes about twenty.
 */
export async function sendEvents(sender: Sender, sendings: readonly Sending[]): Promise<SentBatch> {
  const requests: SentRequest[] = []
  const waiting: (readonly Sending[])[] = [sendings]
  for (let batch = waiting.pop(); batch; batch = waiting.pop()) {
    if (!sender.mayStart()) return { requests, unsent: [...batch, ...waiting.flat()] }
    const request = await sendOnce(sender, batch)
    requests.push(request)
    const { outcome } = request.result
    if (outcome.kind === 'permanent' && outcome.divisible && batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      waiting.push(batch.slice(middle), batch.slice(0, middle))
      request.decided = []
    } else if (refusesTheLane(outcome.kind)) {
      // The platform refuses us, not these events: what has not been sent shares the answer.
      request.decided = [...batch, ...waiting.flat()]
      break
    }
  }
  return { requests, unsent: [] }
}

function refusesTheLane(kind: SendAnswer['outcome']['kind']): boolean {
  return kind === 'auth' || kind === 'config' || kind === 'throttle'
}

async function sendOnce(
  { platform, target, now }: Sender,
  batch: readonly Sending[],
): Promise<SentRequest> {
  const startedAt = now()
  const start = performance.now()
  const result = await platform.send(
    target,
    batch.map(({ event }) => event),
  )
  return {
    startedAt,
    durationMilliseconds: performance.now() - start,
    eventCount: batch.length,
    result,
    decided: batch,
  }
}
