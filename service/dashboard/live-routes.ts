import { LiveQuery } from '@signalbox/contract/session/live.ts'
import { watchEvents } from '@signalbox/contract/session/live-operations.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { Validator } from '../runtime/http/validator.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { requireTracker } from './dashboard-context.ts'
import { EventStream, STREAM_HEADERS } from './live/event-stream.ts'
import { LiveEvents } from './live/worker.ts'

/** The live view of a tracker's events. */
export function liveRoutes(app: ServiceApp, context: DashboardContext): void {
  const live = new LiveEvents(context)
  app.addHook('preClose', () => live.close())
  app.route({
    ...watchEvents,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'view_events')
      const since = readLastEventId(request)
      const stream = new EventStream(reply.raw, () => {
        const headers = Object.entries({ ...reply.getHeaders(), ...STREAM_HEADERS })
        for (const [name, value = ''] of headers) reply.raw.setHeader(name, value)
      })
      const address = context.addressOf(request)
      await live.open(stream, { user: request.user, tracker, address, since })
      return reply.hijack()
    },
  })
}

const liveValidator = new Validator(LiveQuery, {
  members: {
    last_event_id: {
      error: 'The last_event_id field must be the ID of a message of this stream.',
      parse: parseMessageId,
    },
  },
})

/** An empty ID is left out. */
function parseMessageId(text: string): string | null {
  const time = new Date(text)
  return text === '' || (time.getTime() > 0 && time.toISOString() === text) ? text : null
}

interface ResumingRequest {
  headers: Record<string, string | string[] | undefined>
  query: unknown
}

/** The time of the last message that the page got. A browser that reconnects sends the header. */
function readLastEventId({ headers, query }: ResumingRequest): Date | null {
  const header = headers['last-event-id']
  const { last_event_id: given = '' } = liveValidator.validate(
    header === undefined ? query : { last_event_id: header },
  )
  return given === '' ? null : new Date(given)
}
