import { sendTestPurchase } from '@signalbox/contract/operations.ts'
import type { DeliveryContext } from '../delivery/delivery-context.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { sendTestPurchase as send } from './send-test-purchase.ts'

const RETRY_SECONDS = 60

/** `delivery` is null in a process that was not told where the platform is. */
export function testPurchaseRoutes(
  app: ServiceApp,
  { delivery }: { delivery: DeliveryContext | null },
): void {
  app.route({
    ...sendTestPurchase,
    async handler({ tracker: { trackerId }, params, body }, reply) {
      if (!delivery) throw Refusal.unavailable(NO_PLATFORM, RETRY_SECONDS)
      const destinationId = params.destination
      const purchase = await send(delivery, { trackerId, destinationId, body })
      if (purchase.status === 'accepted') return reply.code(200).send(purchase)
      // Sending the request again would send another purchase, not this one.
      return reply.code(502).header('x-should-retry', 'false').send(purchase)
    },
  })
}

const NO_PLATFORM =
  'This process does not know the platform: whoever runs it should set SIGNALBOX_PLATFORM_URL.'
