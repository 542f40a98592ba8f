import { InternalServerError } from '@signalbox/sdk'
import { Argument } from 'commander'
import { objectOrEmpty } from '../../../../service/runtime/util/is-object.ts'
import { CliError, createUsageError } from '../cli-error.ts'
import type { DefineGroup, Handler } from '../command-context.ts'
import { printable } from '../output/style.ts'
import { formatFacts } from '../output/table.ts'

export const defineDestinations: DefineGroup = (group, run) => {
  group
    .command('test-mode')
    .description('send new events as test events, for a day at most, or no longer')
    .argument('<destination>', 'the id of the destination')
    .addArgument(new Argument('<state>', 'the new state').choices(['on', 'off']))
    .option('--code <code>', 'the code that the platform shows beside its test events')
    .option('--clear-code', 'forget the stored code')
    .action(run(setTestMode))
  group
    .command('test-purchase')
    .description('send a purchase to the platform now; test mode must be on')
    .argument('<destination>', 'the id of the destination')
    .option('--value <amount>', 'such as 1.00, the default')
    .option('--currency <code>', 'ISO 4217; USD by default')
    .option('--order-id <id>', 'by default one that is clearly not a real order')
    .action(run(sendTestPurchase))
}

interface TestModeOptions {
  code?: string
  clearCode?: boolean
}

const setTestMode: Handler<TestModeOptions> = async (context, options, [id = '', state]) => {
  const { code, clearCode = false } = options
  if (code !== undefined && clearCode) throw createUsageError('Use either --code or --clear-code.')
  const client = await context.client()
  const submission = {
    enabled: state === 'on',
    ...(clearCode ? { test_event_code: null } : code !== undefined && { test_event_code: code }),
  }
  const { signal } = context.host
  const result = await client.destinations.setTestMode(id, submission, { signal })
  if (context.isJson) {
    await context.printJson(result)
    return
  }
  const { config } = result.destination
  const { style } = context
  const shown = result.test_mode
    ? `${style('yellow', '!')} Test mode is on: new events are sent as test events.\n`
    : `${style('green', '✓')} Test mode is off: new events count.\n`
  const facts: [string, string][] = [['Code', String(config?.test_event_code ?? 'none')]]
  if (result.test_mode) facts.push(['Until', String(config?.test_mode_until ?? 'unknown')])
  await context.print(shown + formatFacts(facts, style))
}

interface TestPurchaseOptions {
  value?: string
  currency?: string
  orderId?: string
}

const sendTestPurchase: Handler<TestPurchaseOptions> = async (context, options, [id = '']) => {
  const { value, currency, orderId } = options
  const client = await context.client()
  const purchase = { value, currency, order_id: orderId }
  const { signal } = context.host
  try {
    const sent = await client.destinations.sendTestPurchase(id, purchase, { signal })
    if (context.isJson) {
      await context.printJson(sent)
      return
    }
    const { style } = context
    const facts: [string, string][] = [
      ['Event', sent.event_id],
      ['Status', sent.status],
      ['Trace', sent.trace_id ?? 'none'],
    ]
    const title = `${style('green', '✓')} The platform accepted the test purchase.\n`
    await context.print(title + formatFacts(facts, style))
  } catch (error) {
    throw describePlatformRefusal(error)
  }
}

const BAD_GATEWAY = 502

/** 502 with an event is the answer of the platform, which the same request would get again. */
function describePlatformRefusal(error: unknown): unknown {
  if (!(error instanceof InternalServerError) || error.status !== BAD_GATEWAY) return error
  const { event_id: id, status } = objectOrEmpty(error.body)
  if (typeof id !== 'string') return error
  const message = `The platform did not accept the test purchase (${printable(String(status))}).`
  return new CliError('refused', message, `Why: signalbox events get ${printable(id)}`)
}
