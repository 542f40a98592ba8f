import { readFile } from 'node:fs/promises'
import type { DestinationRouting } from '@signalbox/contract/routing.ts'
import { Command } from 'commander'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { readJsonBody } from '../../runtime/http/request-body.ts'
import { previewRouting, setRouting } from '../../signals/delivery/change-routing.ts'
import { findDestinationsOfId } from '../../signals/delivery/credential-store.ts'
import type { Destination } from '../../signals/delivery/destination-store.ts'
import { createOfflinePlatforms } from '../../signals/platforms/registry.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { runOnStore } from './open-store.ts'
import {
  findTrackerArgument,
  parseDestination,
  parseTracker,
  type TrackerReference,
} from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { formatTable, stripControlCharacters } from './terminal-table.ts'

/** Shows, previews or sets which events a destination gets, and under which names. */
export async function runRouting(context: RoleContext, request: RoutingRequest): Promise<void> {
  const body = request.from === null ? {} : await readRoutingFile(request.from)
  await runOnStore(context, 'routing', async ({ database }) => {
    const destination = await findDestination(database, request)
    const { trackerId, id: destinationId } = destination
    if (request.task === 'show') {
      context.printStatus(formatRouting(destination.routing))
      return
    }
    const tracker = await findTrackerArgument(database, { trackerId })
    const change = { tracker, destinationId, body, at: context.now() }
    const platforms = createOfflinePlatforms()
    if (request.task === 'preview') {
      const preview = await asStartError(() => previewRouting({ database, platforms }, change))
      context.printStatus(formatPreview(preview))
      return
    }
    const keys = loadCredentialKeys(context.settings, 'fail')
    const audit = createAuditTrail(deriveAuditKeys(keys), context.logger)
    const actor = { type: 'operator', id: null } as const
    const scope = { database, audit, platforms }
    const { routing } = await asStartError(() => setRouting(scope, { ...change, actor }))
    context.printStatus(formatRouting(routing))
  })
}

/** A refusal names what is wrong with the file. */
export async function asStartError<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof Refusal) throw new StartError(sentencesOf(error), { cause: error })
    throw error
  }
}

function sentencesOf({ errors, message }: Refusal): string {
  return errors ? Object.values(errors).flat().join(' ') : message
}

/** Larger than any valid routing. */
const FILE_BYTES_MAX = 262_144

/** Reads a routing by the rules of a body; its members are validated later. Throws a StartError. */
export async function readRoutingFile(path: string): Promise<unknown> {
  const bytes = await readFile(path).catch(cause => {
    throw new StartError(`The routing cannot be read from ${path}.`, { cause })
  })
  if (bytes.length > FILE_BYTES_MAX) throw new StartError(`${path} is too large for a routing.`)
  // An empty body is none; an empty file is a mistake.
  if (bytes.length === 0) throw new StartError(`${path} is empty.`)
  try {
    return readJsonBody(bytes)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const sentence = sentencesOf(error).replace(/^The body/, () => path)
    throw new StartError(sentence, { cause: error })
  }
}

async function findDestination(
  database: Database,
  { destinationId: id, tracker }: RoutingRequest,
): Promise<Destination> {
  const trackerId = tracker && (await findTrackerArgument(database, tracker)).trackerId
  const [found, another] = await findDestinationsOfId(database, { id, trackerId })
  if (!found) throw new StartError(`There is no destination ${id} here.`)
  if (another) throw new StartError(`Several trackers have a destination ${id}: add --tracker.`)
  return found
}

function formatRouting(routing: DestinationRouting): string {
  return `${JSON.stringify(routing, null, 2)}\n`
}

function formatPreview(preview: Awaited<ReturnType<typeof previewRouting>>): string {
  const { events, selected, not_selected, names, unused_names } = preview
  const rows = names.map(name => [
    stripControlCharacters(name.event_name),
    name.platform_name,
    String(name.selected),
    String(name.not_selected),
  ])
  const reasons = not_selected.map(({ reason, count }) => `${reason}: ${count}\n`).join('')
  const unused = unused_names.map(name => `No event has the name ${name}.\n`).join('')
  const table = formatTable([['EVENT NAME', 'SENT AS', 'SENT', 'LEFT OUT'], ...rows])
  return `${selected} of the last ${events} events are selected.\n${reasons}${table}${unused}`
}

export interface RoutingRequest {
  task: 'show' | 'preview' | 'set'
  destinationId: string
  /** Null: any tracker that has the destination. */
  tracker: TrackerReference | null
  /** The path of a JSON file; null to show what is set. */
  from: string | null
}

export function defineRoutingCommand(handle: (request: RoutingRequest) => Promise<void>): Command {
  const command = new Command()
  const add = (task: RoutingRequest['task'], description: string) => {
    const own = command
      .command(task)
      .description(description)
      .requiredOption('--destination <id>', 'ID of the destination', parseDestination)
      .option('--tracker <id>', 'ID of the tracker or of its workspace', parseTracker)
    if (task !== 'show') own.requiredOption('--from <file>', 'JSON file with event_names or filter')
    own.action(({ destination, tracker = null, from = null }) =>
      handle({ task, destinationId: destination, tracker, from }),
    )
  }
  add('show', 'show which events a destination gets, and under which names')
  add('preview', 'show what a file would select of the last 1,000 events')
  add('set', 'set the members of a file; others keep their value, and null clears one')
  return command
}
