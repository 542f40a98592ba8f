import { setTimeout as delay } from 'node:timers/promises'
import { samplePurchase } from '../fixtures/sample-events.ts'

/** Where the service is at this moment; it moves when it is started again. */
export interface LoadTarget {
  base_url: string
  tracker_secret: string
}

export interface EventLoad {
  /** Ids that were answered 202 or 200. */
  acknowledged: ReadonlySet<string>
  /** Answers that no client should ever see here, as `status event_id`. */
  unexpectedResponses: readonly string[]
  /** Submissions that had no answer, or a 503, and were sent again under the same id. */
  retries(): number
  /** Begins no further event, and resolves when every one that was begun is acknowledged. */
  stop(): Promise<void>
}

export interface LoadOptions {
  connections: number
  /** Between two events of a connection, so that the simulator can list all that it received. */
  pauseMilliseconds: number
  target: () => LoadTarget
}

const ANSWER_MILLISECONDS_MAX = 5_000
const RETRY_MILLISECONDS = 20

/** Clients as they should be: a new id for each event, and the same id until it is acknowledged. */
export function startEventLoad({ connections, pauseMilliseconds, target }: LoadOptions): EventLoad {
  const acknowledged = new Set<string>()
  const surprises: string[] = []
  let retries = 0
  let isStopped = false

  const acknowledge = async (eventId: string) => {
    for (let tries = 1; !acknowledged.has(eventId); tries += 1) {
      const status = await submit(target(), eventId)
      // The first answer to a new id cannot be "duplicate"; a repeated one can be either.
      if (status === 202 || (status === 200 && tries > 1)) acknowledged.add(eventId)
      else if (status === null || status === 503) {
        retries += 1
        await delay(RETRY_MILLISECONDS)
      } else {
        surprises.push(`${status} ${eventId}`)
        return
      }
    }
  }
  const client = async (name: string) => {
    for (let count = 1; !isStopped; count += 1) {
      await acknowledge(`load-${name}-${count}`)
      await delay(pauseMilliseconds)
    }
  }
  const clients = Array.from({ length: connections }, (_, index) => client(String(index)))
  const stop = async () => {
    isStopped = true
    await Promise.all(clients)
  }
  return { acknowledged, unexpectedResponses: surprises, retries: () => retries, stop }
}

/** Null when no whole answer came. */
async function submit(
  { base_url, tracker_secret }: LoadTarget,
  event_id: string,
): Promise<number | null> {
  const purchase = samplePurchase({ event_id, consent: { ad_user_data: 'granted' } })
  try {
    const response = await fetch(`${base_url}/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tracker_secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(purchase),
      signal: AbortSignal.timeout(ANSWER_MILLISECONDS_MAX),
    })
    const answer = (await response.json()) as { event_id?: string }
    const isOurs = response.status >= 300 || answer.event_id === event_id
    return isOurs ? response.status : 0
  } catch {
    return null
  }
}
