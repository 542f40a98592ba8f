import { type Command, Option } from 'commander'
import { EXIT_CODES } from '../cli-error.ts'
import type { DefineGroup, Handler } from '../command-context.ts'
import { EVENT_FIELDS } from '../event-fields.ts'
import { DATE_ORDERS, DECIMAL_MARKS } from '../import/cell-formats.ts'
import { createEvent } from './create-event.ts'
import { formatEvent, isDelivered } from './event-text.ts'
import { listEvents, PAGE_EVENTS_MAX } from './list-events.ts'
import {
  createCountParser,
  parseCount,
  parseWait,
  type WaitOption,
  waitMilliseconds,
} from './option-values.ts'

const CONCURRENCY_MAX = 64
const parsePerPage = createCountParser('--per-page', PAGE_EVENTS_MAX)
const parseConcurrency = createCountParser('--concurrency', CONCURRENCY_MAX)

export const defineEvents: DefineGroup = (group, run) => {
  const create = group
    .command('create')
    .description('send one event, or every line of a file')
    .addHelpText('after', CREATE_EXAMPLES)
  for (const { name, placeholder, description } of EVENT_FIELDS) {
    create.addOption(
      new Option(`--${name} <${placeholder}>`, description).helpGroup('Members of the event:'),
    )
  }
  addCreateOptions(create)
  create.action(run(createEvent))

  group
    .command('get')
    .description('show one event: its consent decision, its deliveries and why')
    .argument('<id>', 'the id of the event')
    .addOption(
      new Option('--space <space>', 'who sent it: a server or a page').choices([
        'secret',
        'publishable',
      ]),
    )
    .option('--wait [seconds]', 'wait until its deliveries are final', parseWait)
    .action(run(getEvent))

  group
    .command('list')
    .description('list events, newest first')
    .option('--page <number>', 'from 1', parseCount)
    .option('--per-page <number>', 'at most 100; 25 by default', parsePerPage)
    .option('--all', 'every page; with --json one event on each line (NDJSON)')
    .option('--csv', 'print CSV')
    .action(run(listEvents))
}

function addCreateOptions(create: Command): void {
  const file = 'Files:'
  create
    .option('--data <json>', 'the event as JSON, @file, or - for standard input')
    .option('--dry-run', 'check everything as the service does, and send nothing')
    .option('--wait [seconds]', 'wait until the deliveries are final', parseWait)
    .addOption(new Option('--file <path>', 'NDJSON or CSV; - reads NDJSON').helpGroup(file))
    .addOption(
      new Option('--format <format>', 'instead of the extension of the file')
        .choices(['ndjson', 'csv'])
        .helpGroup(file),
    )
    .addOption(
      new Option('--map <column=member>', 'which member a column is; "column=" ignores it')
        .argParser(collect)
        .helpGroup(file),
    )
    .addOption(new Option('--delimiter <text>', 'of a CSV file').helpGroup(file))
    .addOption(
      new Option('--decimal <mark>', 'of amounts in a CSV file; such as 1.234,50 with comma')
        .choices(DECIMAL_MARKS)
        .helpGroup(file),
    )
    .addOption(
      new Option('--dates <order>', 'of day, month and year in a CSV file')
        .choices(DATE_ORDERS)
        .helpGroup(file),
    )
    .addOption(
      new Option(
        '--time-zone <zone>',
        'of times without an offset in a CSV file, such as Europe/Berlin',
      ).helpGroup(file),
    )
    .addOption(
      new Option('--concurrency <number>', 'requests at the same time; 8 by default')
        .argParser(parseConcurrency)
        .helpGroup(file),
    )
    .addOption(
      new Option('--refused <path>', 'where refused lines go; FILE.refused.ndjson').helpGroup(file),
    )
}

const CREATE_EXAMPLES = `
Options of the event fill in what a line of a file does not have.

Examples:
  signalbox events create --name Purchase --value 19.95 --currency EUR \\
    --email jane@example.com --consent-basis consent --wait
  signalbox events create --data @event.json
  signalbox events create --file orders.csv --map total=value --map mail=email \\
    --name Purchase --currency EUR --consent-basis consent --dry-run
`

function collect(text: string, earlier: string[] = []): string[] {
  return [...earlier, text]
}

interface GetOptions {
  space?: 'secret' | 'publishable'
  wait?: WaitOption
}

/** `events get`: one event with the reason for everything that happened to it. */
const getEvent: Handler<GetOptions> = async (context, { space, wait }, [id = '']) => {
  const { signal } = context.host
  const client = await context.client()
  const timeout = waitMilliseconds(wait)
  if (timeout !== null) await client.events.waitForDelivery(id, { space, signal, timeout })
  const detail = await client.events.get(id, { space, signal })
  if (context.isJson) await context.printJson(detail)
  else await context.print(formatEvent(detail, context))
  return timeout === null || isDelivered(detail) ? EXIT_CODES.success : EXIT_CODES.refused
}
