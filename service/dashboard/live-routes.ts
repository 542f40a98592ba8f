import { watchEvents } from '@signalbox/contract/session/live-operations.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { EventStream, STREAM_HEADERS } from './live/event-stream.ts'
import { LiveEvents } from './live/worker.ts'
import { requireTracker } from './tracker-scope.ts'

/** The live view of a tracker's events. */
export function liveRoutes(app: ServiceApp, context: DashboardContext): void {
  const live = new LiveEvents(context)
  app.addHook('preClose', () => live.close())
  app.route({
    ...watchEvents,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'read')
      const since = readLastEventId(request)
      const stream = new EventStream(reply.raw, () => {
        const headers = Object.entries({ ...reply.getHeaders(), ...STREAM_HEADERS })
        for (const [name, value = ''] of headers) reply.raw.setHeader(name, value)
      })
      await live.open(stream, { user: request.user, tracker, since })
      return reply.hijack()
    },
  })
}

interface ResumingRequest {
  headers: Record<string, string | string[] | undefined>
  query: unknown
}

/** The time of the last message that the page got. A browser that reconnects sends the header. */
function readLastEventId({ headers, query }: ResumingRequest): Date | null {
  const { last_event_id: parameter } = query as { last_event_id?: unknown }
  const given = headers['last-event-id'] ?? parameter
  if (given === undefined || given === '') return null
  const time = typeof given === 'string' ? new Date(given) : new Date(Number.NaN)
  if (time.getTime() > 0 && time.toISOString() === given) return time
  const sentence = 'The last_event_id field must be the ID of a message of this stream.'
  throw Refusal.ofFields({ last_event_id: [sentence] })
}
