import { readFile } from 'node:fs/promises'
import type { CreatedEvent } from '@signalbox/sdk'
import { isObject } from '../../../../service/runtime/util/is-object.ts'
import { parseWithoutRepeats } from '../../../../service/runtime/util/json-shape.ts'
import { createUsageError, EXIT_CODES, type ExitCode } from '../cli-error.ts'
import type { CommandContext, Handler } from '../command-context.ts'
import {
  type EventBody,
  hashIdentifiers,
  hasMember,
  readFieldOptions,
  setMember,
  toSubmission,
} from '../event-fields.ts'
import { readInput } from '../output/prompt.ts'
import { printable } from '../output/style.ts'
import { formatDeliveries, isDelivered } from './event-text.ts'
import { type CreateOptions, waitMilliseconds } from './option-values.ts'

/** `events create`: one event from options and --data, or the lines of a file. */
export const createEvent: Handler<CreateOptions> = async (context, options) => {
  const given = readFieldOptions(options as Record<string, unknown>)
  if (options.file !== undefined) {
    if (options.data !== undefined) throw createUsageError('Use either --file or --data.')
    const { importFile } = await import('../import/import-file.ts')
    return importFile(context, options.file, { ...options, defaults: given })
  }
  for (const name of FILE_OPTIONS) {
    const option = name === 'timeZone' ? 'time-zone' : name
    if (options[name] !== undefined) throw createUsageError(`--${option} needs --file.`)
  }
  const event = await readData(context, options.data)
  refuseSecondConsent(event, given)
  for (const [member, value] of given) setMember(event, member, value)
  if (Object.keys(event).length === 0) {
    throw createUsageError(
      'There is no event: use --name and other options, --data or --file.',
      'See: signalbox events create --help',
    )
  }
  const hashed = await hashIdentifiers(event)
  if (options.dryRun) return checkOnly(context, hashed)
  return send(context, hashed, waitMilliseconds(options.wait))
}

const FILE_OPTIONS = [
  ...(['format', 'map', 'delimiter', 'decimal', 'dates', 'timeZone'] as const),
  ...(['concurrency', 'refused'] as const),
]

async function readData({ host }: CommandContext, data: string | undefined): Promise<EventBody> {
  if (data === undefined) return {}
  return parseData(await readText(data, () => readInput(host)))
}

/** The object in `--data`. Throws a CliError for anything else. */
export function parseData(text: string): EventBody {
  let parsed: { value: unknown } | null
  try {
    parsed = parseWithoutRepeats(text)
  } catch {
    throw createUsageError('--data is not JSON.')
  }
  if (parsed === null) throw createUsageError('--data has an object that names a member twice.')
  if (!isObject(parsed.value)) throw createUsageError('--data must be a JSON object.')
  return parsed.value as EventBody
}

/** An option must not overwrite what the person chose. */
function refuseSecondConsent(event: EventBody, given: ReadonlyMap<string, unknown>): void {
  const isSaid = ['consent', 'consent_mode', 'tcf'].some(name => hasMember(event, name))
  if (!isSaid || !given.has('consent.advertising')) return
  throw createUsageError('--data says the consent: leave out --consent-granted-at.')
}

async function readText(data: string, readStandardInput: () => Promise<string>): Promise<string> {
  if (data === '-') return readStandardInput()
  if (!data.startsWith('@')) return data
  const path = data.slice(1)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw createUsageError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

async function checkOnly(context: CommandContext, event: EventBody): Promise<ExitCode> {
  const { checkEvent, formatEventCheck, NOT_CHECKED, NOT_CHECKED_NOTE } = await import(
    '../import/check-event.ts'
  )
  const check = checkEvent(event, context.host.now())
  if (context.isJson) await context.printJson({ event, ...check, not_checked: NOT_CHECKED })
  else {
    await context.print(`${JSON.stringify(event, null, 2)}\n`)
    await context.print(formatEventCheck(check, context.style))
    await context.print(`Nothing was sent. ${NOT_CHECKED_NOTE}`)
  }
  return check.isValid ? EXIT_CODES.success : EXIT_CODES.refused
}

async function send(
  context: CommandContext,
  event: EventBody,
  timeout: number | null,
): Promise<ExitCode> {
  const { signal } = context.host
  const client = await context.client()
  const created = await client.events.create(toSubmission(event), { signal })
  if (!context.isJson) await context.print(formatCreated(context, created))
  if (timeout === null) {
    if (context.isJson) await context.printJson(created)
    return EXIT_CODES.success
  }
  const detail = await client.events.waitForDelivery(created.event_id, { signal, timeout })
  if (context.isJson) await context.printJson({ ...created, deliveries: detail.deliveries })
  else await context.print(formatDeliveries(detail, context))
  return isDelivered(detail) ? EXIT_CODES.success : EXIT_CODES.refused
}

function formatCreated({ style }: CommandContext, created: CreatedEvent): string {
  const id = style('bold', printable(created.event_id))
  const lines = created.duplicate
    ? [`${style('yellow', '=')} ${id} was stored before; nothing was counted twice.`]
    : [`${style('green', '✓')} ${id} is stored.`]
  for (const { field, message } of [...(created.warnings ?? []), ...(created.notices ?? [])]) {
    const text = message.includes(field) ? message : `${field}: ${message}`
    lines.push(`${style('yellow', '!')} ${printable(text)}`)
  }
  return lines.map(line => `${line}\n`).join('')
}
