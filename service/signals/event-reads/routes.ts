import { BASE_PATH, getEvent } from '@signalbox/contract/operations.ts'
import { listEvents } from '@signalbox/contract/report-operations.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { readPageRequest } from './pagination.ts'
import { readEvent, listEvents as readEventPage, readSpace } from './read-events.ts'

export interface EventReadContext {
  /** Reads go to the node of the tracker, so that they need no other one. */
  nodes: StoreNodes
  platforms: PlatformRegistry
  now: () => Date
  publicOrigin: () => string
}

export function eventReadRoutes(app: ServiceApp, context: EventReadContext): void {
  const { nodes, platforms, now, publicOrigin } = context

  app.route({
    ...listEvents,
    async handler({ tracker, query }, reply) {
      const page = readPageRequest(query)
      const path = `${publicOrigin()}${BASE_PATH}${listEvents.url}`
      const node = await nodes.findNode(tracker.trackerId)
      return reply.code(200).send(await readEventPage(node, { tracker, page, path, at: now() }))
    },
  })

  app.route({
    ...getEvent,
    async handler(request, reply) {
      const { event: eventId } = readPathParameters(request.params, 'event')
      const lookup = { eventId, space: readSpace(request.query) }
      const read = { ...lookup, platforms, at: now() }
      const node = await nodes.findNode(request.tracker.trackerId)
      const { detail, space } = await readEvent(node, request.tracker, read)
      const path = `${BASE_PATH}/events/${encodeURIComponent(detail.event.id)}`
      const query = space === null ? '' : `?space=${space}`
      reply.header('content-location', `${publicOrigin()}${path}${query}`)
      return reply.code(200).send(detail)
    },
  })
}
