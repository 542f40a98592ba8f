import { deleteUserData } from '@signalbox/contract/report-operations.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { type DeletionContext, forgetPerson } from './forget-person.ts'

export function erasureRoutes(app: ServiceApp, context: DeletionContext): void {
  app.route({
    ...deleteUserData,
    async handler({ tracker, body }, reply) {
      return reply.code(200).send(await forgetPerson(context, tracker, body))
    },
  })
}
