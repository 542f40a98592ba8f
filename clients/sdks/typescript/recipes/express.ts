import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { consent, type EventQueue, QueueFullError } from '@signalbox/sdk'

/** The part of Express that this recipe uses. */
interface ExpressApp extends RequestListener {
  use(handler: unknown): void
  post(path: string, handler: (request: ShopRequest, response: ShopResponse) => void): void
}

interface ShopRequest extends IncomingMessage {
  ip?: string
  body: { email: string; total: string; agreedToAds: boolean }
}

interface ShopResponse extends ServerResponse {
  status(code: number): ShopResponse
  json(body: unknown): void
}

/** Stores an order of your shop. */
type PlaceOrder = (order: ShopRequest['body']) => { id: string }

/**
 * A route of a long-running server. The order is answered at once; the queue sends the event in the
 * background. At the end of the process, close the queue (see `closeOnSignal`).
 */
export function addCheckout(app: ExpressApp, queue: EventQueue, placeOrder: PlaceOrder): void {
  app.post('/checkout', (request, response) => {
    const { email, total, agreedToAds } = request.body
    const order = placeOrder(request.body)
    if (agreedToAds) {
      const event = {
        event_id: `order-${order.id}`,
        event_name: 'Purchase',
        event_time: new Date(),
        consent_basis: 'consent' as const,
        consent: consent.granted({ captured_at: new Date(), method: 'checkout' }),
        user_data: {
          em: email,
          client_ip_address: request.ip,
          client_user_agent: request.headers['user-agent'],
        },
        value_data: { value: total, currency: 'EUR', order_id: order.id },
      }
      try {
        queue.add(event)
      } catch (error) {
        // A full queue must not cost an order: keep the event where you keep what is to be redone.
        if (!(error instanceof QueueFullError)) throw error
        console.error(`The event of order ${order.id} was not added: the queue is full.`)
      }
    }
    response.status(201).json({ order: order.id })
  })
}

/** Sends what is left when the process is told to stop, and names what could not be sent. */
export function closeOnSignal(queue: EventQueue, closeServer: () => void): void {
  process.once('SIGTERM', async () => {
    closeServer()
    const { left } = await queue.close({ timeout: 5_000 })
    if (left.length > 0) console.error(`Send these events again: ${left.join(', ')}`)
  })
}
