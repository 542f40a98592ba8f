import { REPLAY_BYTES_MAX } from '@signalbox/contract/replays.ts'
import * as contract from '@signalbox/contract/session/event-operations.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters } from '../runtime/http/validator.ts'
import { readSpace } from '../signals/event-reads/read-events.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { readEventDetails } from './event-details.ts'
import { getReplayProgress, previewReplay, startReplay } from './replay-failures.ts'
import { searchEvents } from './search-events.ts'
import { requireTracker } from './tracker-scope.ts'

/** The events of a tracker, and sending them again. */
export function eventRoutes(app: ServiceApp, context: DashboardContext): void {
  const { database, platforms, now } = context

  app.route({
    ...contract.searchEvents,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      return searchEvents(database, trackerId, request.query)
    },
  })

  app.route({
    ...contract.getEventDetails,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      const { event: eventId } = readPathParameters(request.params, 'event')
      const space = readSpace(request.query)
      return readEventDetails(database, trackerId, { eventId, space, platforms, at: now() })
    },
  })

  app.route({
    ...contract.previewReplay,
    bodyLimit: REPLAY_BYTES_MAX,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'read')
      return previewReplay(context, { tracker, body: request.body })
    },
  })

  app.route({
    ...contract.startReplay,
    bodyLimit: REPLAY_BYTES_MAX,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      return startReplay(context, userActor(request.user), { tracker, body: request.body })
    },
  })

  app.route({
    ...contract.getReplayProgress,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'read')
      const { replay } = readPathParameters(request.params, 'replay')
      return getReplayProgress(context, tracker, replay)
    },
  })
}
