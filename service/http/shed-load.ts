import { eventLoopDelay } from './event-loop-delay.ts'
import { Overload } from './overload.ts'
import { Refusal } from './refusal.ts'
import type { ServiceApp } from './service-app.ts'

export interface SheddingOptions {
  /** The event loop may be this late for long. 0: however late. */
  eventLoopDelayMillisecondsMax: number
  /** Seconds of a clock that only goes forward. */
  steadySeconds: () => number
  /** How late the loop typically was since the last call; left out, it is measured. */
  readDelaySeconds?: (() => number) | undefined
  /** For counting. */
  onShed: () => void
}

const RETRY_SECONDS = 2

/** Whoever watches the process must hear that it lives, above all when it has too much to do. */
const ALWAYS_ANSWERED = new Set<string | undefined>(['/livez', '/readyz'])

/**
 * Answers 503 with `Retry-After` while the process has too much to do, before it asks who is there
 * or reads a body: then what it has begun is answered in time.
 */
export function shedLoad(app: ServiceApp, options: SheddingOptions): void {
  const { eventLoopDelayMillisecondsMax, steadySeconds, onShed } = options
  if (eventLoopDelayMillisecondsMax === 0) return
  const overload = new Overload({
    delaySecondsMax: eventLoopDelayMillisecondsMax / 1_000,
    readDelaySeconds: options.readDelaySeconds ?? measuredDelay(app),
    steadySeconds,
  })
  app.addHook('onRequest', (request, _reply, done) => {
    if (!overload.isShedding() || ALWAYS_ANSWERED.has(request.routeOptions.url)) return done()
    onShed()
    done(Refusal.unavailable(SENTENCE, RETRY_SECONDS, 'overloaded'))
  })
}

const SENTENCE = 'Too many requests at once; wait, then send the same request again.'

function measuredDelay(app: ServiceApp): () => number {
  const delay = eventLoopDelay()
  app.addHook('onClose', async () => delay.close())
  return delay.readSeconds
}
