import type { SandboxEventSubmission } from '@signalbox/sdk'
import type { DefineGroup, Handler } from '../command-context.ts'
import { printable } from '../output/style.ts'
import { parseData } from './create-event.ts'

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
  const event = data === undefined ? discovery.try.body : parseData(data)
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
