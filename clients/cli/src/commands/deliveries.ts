import { createUsageError } from '../cli-error.ts'
import type { DefineGroup, Handler } from '../command-context.ts'
import { formatFacts } from '../output/table.ts'
import { countOf } from '../output/times.ts'
import { parseCount } from './option-values.ts'

export const defineDeliveries: DefineGroup = (group, run) => {
  group
    .command('replay')
    .description('queue failed deliveries again; without options the newest 1,000')
    .option('--delivery-id <id...>', 'only these deliveries', parseIds)
    .option('--event-name <name>', 'only deliveries of events with this name')
    .option('--limit <number>', 'how many failed deliveries to consider', parseCount)
    .action(run(replay))
}

interface ReplayOptions {
  deliveryId?: number[]
  eventName?: string
  limit?: number
}

const replay: Handler<ReplayOptions> = async (context, { deliveryId, eventName, limit }) => {
  const client = await context.client()
  const filters = { delivery_ids: deliveryId, event_name: eventName, limit }
  const result = await client.deliveries.replay(filters, { signal: context.host.signal })
  if (context.isJson) {
    await context.printJson(result)
    return
  }
  const { style } = context
  const queued = countOf(result.queued, 'failed delivery').replace(/ys$/, 'ies')
  const lines = [
    `${style('green', '✓')} ${queued} queued again.\n`,
    formatFacts(
      [
        ['Too old for the platform', String(result.expired)],
        ['Identity deleted', String(result.payload_expired)],
      ],
      style,
    ),
  ]
  if (result.capped) lines.push('There are more. Run the command again.\n')
  await context.print(lines.join(''))
}

function parseIds(text: string, earlier: number[] = []): number[] {
  if (/^\d{1,15}$/.test(text)) return [...earlier, Number(text)]
  throw createUsageError(`${JSON.stringify(text)} is not the id of a delivery.`)
}
