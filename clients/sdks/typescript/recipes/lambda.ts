import { consent, Signalbox } from '@signalbox/sdk'

/** An event of Amazon SQS, such as orders that another function put into a queue. */
interface SqsEvent {
  Records: { messageId: string; body: string }[]
}

interface Order {
  id: string
  email: string
  total: string
  currency: string
  paid_at: string
  agreed_to_ads_at: string | null
}

// One client for all invocations of a warm function.
let signalbox: Signalbox | undefined

/**
 * Sends the orders of a batch. A function is frozen when it returns, so flush before: what a queue
 * holds then may never be sent. SQS brings the named messages again (ReportBatchItemFailures).
 */
export async function handler(event: SqsEvent) {
  signalbox ??= createClient()
  const queue = signalbox.queue({ capacity: Math.max(event.Records.length, 1) })
  const messages = new Map<string, string>()
  for (const { messageId, body } of event.Records) {
    const order: Order = JSON.parse(body)
    if (order.agreed_to_ads_at !== null) messages.set(queue.add(toPurchase(order)), messageId)
  }
  const { outcomes } = await queue.flush()
  const failed = outcomes.filter(({ status }) => status === 'failed')
  return {
    batchItemFailures: failed.map(({ event_id }) => ({ itemIdentifier: messages.get(event_id) })),
  }
}

/** Without its token the function fails at its first batch, which SQS keeps. */
function createClient(): Signalbox {
  const token = process.env.SIGNALBOX_TOKEN
  if (!token) throw new Error('Set SIGNALBOX_TOKEN.')
  return new Signalbox({ token })
}

function toPurchase(order: Order) {
  return {
    // The id of the order: a message that comes twice is one event.
    event_id: `order-${order.id}`,
    event_name: 'Purchase',
    event_time: order.paid_at,
    consent_basis: 'consent' as const,
    consent: consent.granted({ captured_at: order.agreed_to_ads_at ?? '', method: 'checkout' }),
    user_data: { em: order.email },
    value_data: { value: order.total, currency: order.currency, order_id: order.id },
  }
}
