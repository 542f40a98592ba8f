import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { normalizeOriginPattern, ORIGINS_MAX } from '../access/origin-pattern.ts'
import {
  findTracker,
  type ListedKey,
  listKeys,
  listLiveKeys,
  type TrackerIdentity,
} from '../access/store.ts'
import {
  issueKey,
  type KeyKind,
  LIVE_KEYS_MAX,
  revokeKeyByLastCharacters,
} from '../access/tracker-keys.ts'
import { type AuditTrail, createAuditTrail } from '../audit/audit-store.ts'
import { deriveAuditKeys } from '../audit/signed-head.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { reserveCredentialsFile, writeKeyFile } from '../provisioning/credentials-file.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { formatIsoMinute } from '../util/date-text.ts'
import { requireId } from './credential-command.ts'
import { openStore } from './open-store.ts'
import { type RoleContext, StartError } from './role.ts'

/** Looks after the keys of a tracker: lists them, issues one into a file, revokes one. */
export async function runKey(context: RoleContext, argumentList: readonly string[]): Promise<void> {
  const command = parseKeyCommand(argumentList)
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'key', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    const { trackerId } = command
    const tracker = await findTracker(store.database, trackerId)
    if (!tracker) throw new StartError(`There is no tracker ${trackerId} here.`)
    const work = { ...context, database: store.database, tracker }
    if (command.task === 'list') return await listTrackerKeys(work)
    // The key that everybody else signs with: an entry signed with another would look forged.
    const audit = createAuditTrail(deriveAuditKeys(loadCredentialKeys(settings, 'fail')))
    switch (command.task) {
      case 'issue':
        return await issueTrackerKey({ ...work, audit }, command)
      case 'revoke':
        return await revokeTrackerKey({ ...work, audit }, command)
    }
  } finally {
    await store.close()
  }
}

interface CommandContext extends RoleContext {
  database: Database
  tracker: TrackerIdentity
}

interface AuditedCommandContext extends CommandContext {
  audit: AuditTrail
}

async function listTrackerKeys({
  database,
  printStatus: tell,
  tracker,
}: CommandContext): Promise<void> {
  const keys = await listKeys(database, tracker.trackerId)
  tell([KEY_TABLE_HEADER, ...keys.map(formatKeyRow)].join(''))
}

async function issueTrackerKey(
  { database, audit, now, printStatus: tell, tracker }: AuditedCommandContext,
  { kind, origins, path }: Extract<KeyCommand, { task: 'issue' }>,
): Promise<void> {
  const live = await listLiveKeys(database, tracker.trackerId, kind)
  if (live.length >= LIVE_KEYS_MAX) {
    throw new StartError(
      `The tracker has ${LIVE_KEYS_MAX} live keys of the kind ${formatKeyKind(kind)}: revoke one first.`,
    )
  }
  const giveBack = reserveCredentialsFile(path)
  const key = { ...tracker, kind, origins, issuedAt: now() }
  const issued = await issueKey({ database, audit }, key).catch(error => {
    giveBack()
    throw error
  })
  writeKeyFile(path, { tracker_id: tracker.trackerId, [MEMBERS[kind]]: issued })
  tell(`The new key is in ${path}; those before it stay valid.\n`)
}

/** As in credentials.json, so that what reads the one reads the other. */
const MEMBERS = {
  publishable: 'publishable_key',
  forwarding: 'forwarding_secret',
  tracker_secret: 'tracker_secret',
} as const

async function revokeTrackerKey(
  { database, audit, now, printStatus: tell, tracker }: AuditedCommandContext,
  { lastCharacters, kind }: Extract<KeyCommand, { task: 'revoke' }>,
): Promise<void> {
  const named = { ...tracker, lastCharacters, kind, revokedAt: now() }
  const count = await revokeKeyByLastCharacters({ database, audit }, named)
  if (count === 0) throw new StartError(`No live key of the tracker ends in ${lastCharacters}.`)
  if (count > 1) {
    throw new StartError(`${count} live keys of the tracker end in ${lastCharacters}: add --kind.`)
  }
  tell(`The key that ends in ${lastCharacters} is revoked: it opens nothing from now on.\n`)
}

/** What `key` is asked to do. */
export type KeyCommand = { trackerId: string } & (
  | { task: 'list' }
  | { task: 'issue'; kind: KeyKind; origins: string[]; path: string }
  | { task: 'revoke'; lastCharacters: string; kind: KeyKind | null }
)

const USAGE =
  'Usage: npm run key -- list --tracker ID | ' +
  'issue --tracker ID --kind publishable|forwarding|secret [--origin ORIGIN]... --out FILE | ' +
  'revoke --tracker ID --last CHARACTERS [--kind KIND]'

/** The kinds as people name them, since every one of them is a tracker's. */
const KINDS = new Map<string, KeyKind>([
  ['publishable', 'publishable'],
  ['forwarding', 'forwarding'],
  ['secret', 'tracker_secret'],
])

/** A kind as the command names it. */
export function formatKeyKind(kind: string): string {
  for (const [name, known] of KINDS) if (known === kind) return name
  return kind
}

/** Throws a StartError: how the command is used, or which option is wrong. */
export function parseKeyCommand([task, ...rest]: readonly string[]): KeyCommand {
  const options = parseOptions(rest)
  const { tracker } = options
  if (!tracker) throw new StartError(USAGE)
  const only = (...names: string[]) => {
    const strange = Object.keys(options).filter(name => !['tracker', ...names].includes(name))
    if (strange.length > 0) throw new StartError(USAGE)
    return { trackerId: requireId('--tracker', tracker) }
  }
  switch (task) {
    case 'list':
      return { ...only(), task }
    case 'issue':
      return { ...only('kind', 'origin', 'out'), task, ...parseIssueOptions(options) }
    case 'revoke':
      return { ...only('kind', 'last'), task, ...parseRevokeOptions(options) }
    default:
      throw new StartError(USAGE)
  }
}

/** The form in which origins are kept. Throws a StartError for what cannot be one. */
export function requireOrigins(options: readonly string[]): string[] {
  if (options.length > ORIGINS_MAX) {
    throw new StartError(`A publishable key has at most ${ORIGINS_MAX} origins.`)
  }
  return options.map(option => {
    const pattern = normalizeOriginPattern(option)
    if (pattern !== null) return pattern
    throw new StartError(
      '--origin takes what browsers send, such as https://shop.example, or one of the wildcards ' +
        `https://*.shop.example and http://127.0.0.1:*, not ${option}.`,
    )
  })
}

type Options = ReturnType<typeof parseOptions>

function parseIssueOptions({ kind, origin = [], out }: Options) {
  const known = KINDS.get(kind ?? '')
  if (!known || !out) throw new StartError(USAGE)
  if (origin.length > 0 && known !== 'publishable') {
    throw new StartError('--origin is for publishable keys alone.')
  }
  return { kind: known, origins: requireOrigins(origin), path: resolve(out) }
}

function parseRevokeOptions({ kind, last }: Options) {
  const known = kind === undefined ? null : KINDS.get(kind)
  if (!last || known === undefined) throw new StartError(USAGE)
  return { lastCharacters: last, kind: known }
}

function parseOptions(list: string[]) {
  try {
    return parseArgs({
      args: list,
      options: {
        tracker: { type: 'string' },
        kind: { type: 'string' },
        origin: { type: 'string', multiple: true },
        out: { type: 'string' },
        last: { type: 'string' },
      },
    }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}

const WIDTHS = [11, 4, 16, 16, 16]

export const KEY_TABLE_HEADER = formatRow([
  'KIND',
  'LAST',
  'ISSUED',
  'LAST USED',
  'REVOKED',
  'ORIGINS',
])

/** One key in columns. Its last four characters name it; more of it nobody has. */
export function formatKeyRow(key: ListedKey): string {
  return formatRow([
    formatKeyKind(key.kind),
    key.last_characters,
    formatOptionalTime(key.created_at),
    formatOptionalTime(key.last_used_at),
    formatOptionalTime(key.revoked_at),
    key.origins.join(' '),
  ])
}

function formatOptionalTime(moment: Date | null): string {
  return moment === null ? '-' : formatIsoMinute(moment)
}

function formatRow(cells: readonly string[]): string {
  return `${cells
    .map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0))
    .join('  ')
    .trimEnd()}\n`
}
