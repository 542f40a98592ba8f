import { setTimeout as delay } from 'node:timers/promises'
import { samplePurchase } from '../fixtures/sample-events.ts'

/** The service's current address; it changes when the service restarts. */
export interface LoadTarget {
  base_url: string
  tracker_secret: string
}

export interface EventLoad {
  /** Event IDs that got 202 or 200. */
  acknowledged: ReadonlySet<string>
  /** Responses that no client should receive here, as `status event_id`. */
  unexpectedResponses: readonly string[]
  /** Submissions without a response, or with a 503, that were sent again under the same ID. */
  retries(): number
  /** Starts no further event and resolves when every started one is acknowledged. */
  stop(): Promise<void>
}

export interface LoadOptions {
  connections: number
  /** Between two events of a connection, so that the simulator can list all events it received. */
  pauseMilliseconds: number
  target: () => LoadTarget
}

const ANSWER_MILLISECONDS_MAX = 5_000
const RETRY_MILLISECONDS = 100

/** Correct clients: a new ID for each event, and the same ID until it is acknowledged. */
export function startEventLoad({ connections, pauseMilliseconds, target }: LoadOptions): EventLoad {
  const acknowledged = new Set<string>()
  const unexpectedResponses: string[] = []
  let retries = 0
  let isStopped = false

  const acknowledge = async (eventId: string) => {
    for (let tries = 1; !acknowledged.has(eventId); tries += 1) {
      const status = await submit(target(), eventId)
      // The first response to a new ID cannot be "duplicate"; a repetition can be either.
      if (status === 202 || (status === 200 && tries > 1)) acknowledged.add(eventId)
      else if (status === null || status === 503) {
        retries += 1
        await delay(RETRY_MILLISECONDS)
      } else {
        unexpectedResponses.push(`${status} ${eventId}`)
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
  return { acknowledged, unexpectedResponses, retries: () => retries, stop }
}

/** Null without a complete response. */
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
