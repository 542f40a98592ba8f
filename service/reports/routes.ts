import { getEvent } from '@signalbox/contract/operations.ts'
import type { Database } from '../db/database.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { readEvent } from './read-event.ts'

export function reportRoutes(app: ServiceApp, { database }: { database: Database }): void {
  app.route({
    ...getEvent,
    async handler(request, reply) {
      const { event } = request.params
      return reply.code(200).send(await readEvent(database, request.tracker, event))
    },
  })
}
