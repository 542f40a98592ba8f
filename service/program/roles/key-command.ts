import { resolve } from 'node:path'
import { Command } from 'commander'
import { type AuditTrail, createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { Database } from '../../runtime/db/database.ts'
import { formatIsoMinute } from '../../runtime/util/time.ts'
import { ORIGINS_MAX } from '../../signals/access/authenticate-publishable-key.ts'
import { listKeys, listLiveDigests, type TrackerKey } from '../../signals/access/key-store.ts'
import {
  issueKey,
  type KeyKind,
  LIVE_KEYS_MAX,
  revokeKeyByLastCharacters,
} from '../../signals/access/tracker-keys.ts'
import type { TrackerIdentity } from '../../signals/access/tracker-store.ts'
import { reserveCredentialsFile, writeKeyFile } from '../provisioning/credentials-file.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { runOnStore } from './open-store.ts'
import {
  collectOrigin,
  findTrackerArgument,
  parseChoiceOf,
  parseTracker,
  type TrackerReference,
} from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { formatTable } from './terminal-table.ts'

/** Lists the keys of a tracker, issues one into a file, or revokes one. */
export async function runKey(context: RoleContext, request: KeyCommandRequest): Promise<void> {
  const { settings } = context
  await runOnStore(context, 'key', async ({ database }) => {
    const tracker = await findTrackerArgument(database, request.tracker)
    const command = { ...context, database, tracker }
    if (request.task === 'list') return await listTrackerKeys(command)
    // The key that all processes sign with: an entry signed with another one would look forged.
    const keys = deriveAuditKeys(loadCredentialKeys(settings, 'fail'))
    const audit = createAuditTrail(keys, context.logger)
    switch (request.task) {
      case 'issue':
        return await issueTrackerKey({ ...command, audit }, request)
      case 'revoke':
        return await revokeTrackerKey({ ...command, audit }, request)
    }
  })
}

interface CommandContext extends RoleContext {
  database: Database
  tracker: TrackerIdentity
}

interface AuditedCommandContext extends CommandContext {
  audit: AuditTrail
}

async function listTrackerKeys({ database, printStatus, tracker }: CommandContext): Promise<void> {
  printStatus(formatKeyTable(await listKeys(database, tracker.trackerId)))
}

async function issueTrackerKey(
  { database, audit, now, printStatus, tracker }: AuditedCommandContext,
  { kind, origins, path }: Extract<KeyCommandRequest, { task: 'issue' }>,
): Promise<void> {
  const live = await listLiveDigests(database, tracker.trackerId, kind)
  if (live.length >= LIVE_KEYS_MAX) {
    const name = formatKeyKind(kind)
    throw new StartError(
      `The tracker has ${LIVE_KEYS_MAX} live keys of the kind ${name}: revoke one first.`,
    )
  }
  const releaseFile = reserveCredentialsFile(path)
  const key = { ...tracker, kind, origins, issuedAt: now() }
  const issued = await issueKey({ database, audit }, key).catch(error => {
    releaseFile()
    throw error
  })
  writeKeyFile(path, { tracker_id: tracker.trackerId, [FILE_MEMBERS[kind]]: issued })
  printStatus(`The new key is in ${path}; earlier keys stay valid.\n`)
}

/** As in credentials.json, so that a program reads both files in the same way. */
const FILE_MEMBERS = {
  publishable: 'publishable_key',
  forwarding: 'forwarding_secret',
  tracker_secret: 'tracker_secret',
} as const

async function revokeTrackerKey(
  { database, audit, now, printStatus, tracker }: AuditedCommandContext,
  { lastCharacters, kind }: Extract<KeyCommandRequest, { task: 'revoke' }>,
): Promise<void> {
  const key = { ...tracker, lastCharacters, kind, revokedAt: now() }
  const count = await revokeKeyByLastCharacters({ database, audit }, key)
  if (count === 0) throw new StartError(`No live key of the tracker ends in ${lastCharacters}.`)
  if (count > 1) {
    throw new StartError(`${count} live keys of the tracker end in ${lastCharacters}: add --kind.`)
  }
  printStatus(`The key that ends in ${lastCharacters} is revoked; requests with it get 401.\n`)
}

export type KeyCommandRequest = { tracker: TrackerReference } & (
  | { task: 'list' }
  | { task: 'issue'; kind: KeyKind; origins: string[]; path: string }
  | { task: 'revoke'; lastCharacters: string; kind: KeyKind | null }
)

/** The kinds as operators name them: all of them belong to a tracker. */
const KIND_NAMES = {
  publishable: 'publishable',
  forwarding: 'forwarding',
  secret: 'tracker_secret',
} as const satisfies Record<string, KeyKind>

type KindName = keyof typeof KIND_NAMES

const KIND_OPTION = '--kind <kind>'
const parseKind = parseChoiceOf('--kind', Object.keys(KIND_NAMES) as KindName[])

export function defineKeyCommand(handle: (request: KeyCommandRequest) => Promise<void>): Command {
  const command = new Command()
  command
    .command('list')
    .description('list the keys of a tracker')
    .requiredOption(...TRACKER_OPTION)
    .action(({ tracker }) => handle({ task: 'list', tracker }))
  command
    .command('issue')
    .description('issue a key and write it to a file')
    .requiredOption(...TRACKER_OPTION)
    .requiredOption(KIND_OPTION, 'publishable, forwarding or secret', parseKind)
    .requiredOption('--out <file>', 'new file to write the key to')
    .option('--origin <origin>', ORIGIN_DESCRIPTION, collectOrigin, [])
    .action(options => handle({ task: 'issue', ...readIssueOptions(options) }))
  command
    .command('revoke')
    .description('revoke a key')
    .requiredOption(...TRACKER_OPTION)
    .requiredOption('--last <characters>', 'last four characters of the key, as list shows them')
    .option(KIND_OPTION, 'publishable, forwarding or secret, if two keys end alike', parseKind)
    .action(({ tracker, last, kind }: RevokeOptions) =>
      handle({
        task: 'revoke',
        tracker,
        lastCharacters: last,
        kind: kind === undefined ? null : KIND_NAMES[kind],
      }),
    )
  return command
}

const TRACKER_OPTION = [
  '--tracker <id>',
  'ID of the tracker or of its workspace',
  parseTracker,
] as const
const ORIGIN_DESCRIPTION = `origin of pages that may use a publishable key; at most ${ORIGINS_MAX}`

interface RevokeOptions {
  tracker: TrackerReference
  last: string
  kind?: KindName
}

interface IssueOptions {
  tracker: TrackerReference
  kind: KindName
  origin: string[]
  out: string
}

function readIssueOptions({ tracker, kind, origin, out }: IssueOptions) {
  if (origin.length > 0 && kind !== 'publishable') {
    throw new StartError('--origin is for publishable keys only.')
  }
  return { tracker, kind: KIND_NAMES[kind], origins: origin, path: resolve(out) }
}

/** A key is named by its last four characters; the store has no more of it. */
export function formatKeyTable(keys: readonly Omit<TrackerKey, 'id'>[]): string {
  const header = ['KIND', 'LAST', 'ISSUED', 'LAST USED', 'REVOKED', 'ORIGINS']
  const rows = keys.map(key => [
    formatKeyKind(key.kind),
    key.lastCharacters,
    formatOptionalTime(key.createdAt),
    formatOptionalTime(key.lastUsedAt),
    formatOptionalTime(key.revokedAt),
    key.origins.join(' '),
  ])
  return formatTable([header, ...rows])
}

function formatKeyKind(kind: string): string {
  const found = Object.entries(KIND_NAMES).find(([, known]) => known === kind)
  return found?.[0] ?? kind
}

function formatOptionalTime(moment: Date | null): string {
  return moment === null ? '-' : formatIsoMinute(moment)
}
