import type { SandboxEventSubmission } from '@signalbox/sdk'
import { parseJsonObject } from '../../../../service/runtime/util/is-object.ts'
import { createUsageError } from '../cli-error.ts'
import type { DefineGroup, Handler } from '../command-context.ts'
import { printable } from '../output/style.ts'

export const defineSandbox: DefineGroup = (group, run) => {
  group
    .command('try')
    .description('check an event as production does; no account, nothing is stored or sent')
    .option('--data <json>', 'your own event; a sample without it')
    .action(run(trySandbox))
}

const trySandbox: Handler<{ data?: string }> = async (context, { data }) => {
  const { signal } = context.host
  const client = await context.anonymousClient()
  const discovery = await client.sandbox.discover({ signal })
  const event = data === undefined ? discovery.try.body : parseEvent(data)
  const { api_key: apiKey } = await client.sandbox.createKey({ signal })
  const result = await client.sandbox.validate(event as SandboxEventSubmission, { apiKey, signal })
  if (context.isJson) {
    await context.printJson(result)
    return
  }
  const { style } = context
  const shown = [
    style('dim', 'The event'),
    JSON.stringify(event, null, 2),
    '',
    `${style('green', '✓')} ${printable(result.message)}`,
    '',
    'Next, with a token: signalbox auth login',
  ]
  await context.print(shown.map(line => `${line}\n`).join(''))
}

function parseEvent(text: string): object {
  const event = parseJsonObject(text)
  if (event !== null) return event
  throw createUsageError('--data must be a JSON object.')
}
