import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { streamPrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import { listLoggedWorkspaces } from '../audit/audit-read-store.ts'
import { createAuditTrail } from '../audit/audit-store.ts'
import { exportAudit } from '../audit/export-audit.ts'
import { signChain } from '../audit/sign-heads.ts'
import {
  type AuditHead,
  type AuditKeys,
  deriveAuditKeys,
  isSignedHead,
  parseHeadLine,
} from '../audit/signed-head.ts'
import { type VerifiedChain, verifyChains } from '../audit/verify-chains.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { parseRowId } from '../util/row-id.ts'
import { openStore } from './open-store.ts'
import { type RoleContext, StartError } from './role.ts'

/** Shows whether the audit logs are as they were written, or writes one of them out. */
export async function runAudit(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const command = parseAuditCommand(argumentList)
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'audit', embedded: 'join' })
  try {
    const { database } = store
    await requireCurrentSchema(database)
    const work = {
      ...context,
      database,
      keys: deriveAuditKeys(loadCredentialKeys(settings, 'fail')),
    }
    switch (command.task) {
      case 'verify':
        return await verify(work, command)
      case 'export':
        return await exportLog(work, command)
      case 'sign':
        return await sign(work, command)
    }
  } finally {
    await store.close()
  }
}

interface CommandContext extends RoleContext {
  database: Database
  keys: AuditKeys
}

async function verify(
  work: CommandContext,
  { workspaceId, headPath }: VerifyCommand,
): Promise<void> {
  const { database, keys, settings, now, printStatus: tell, printOutput: print } = work
  const given = headPath === null ? null : readHeadFile(headPath, keys)
  if (given && workspaceId !== null && given.workspaceId !== workspaceId) {
    throw new StartError(`The head in ${headPath} is of the workspace ${given.workspaceId}.`)
  }
  const { dataDirectory } = settings
  const onCheckpointError = (error: unknown) => {
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
    tell(`What was verified could not be remembered in ${dataDirectory} (${code}).\n`)
  }
  const context = { database, keys, dataDirectory, now: now(), onCheckpointError }
  let [verified, broken] = [0, 0]
  for await (const chain of verifyChains(context, { workspaceId, trustedHead: given })) {
    print(formatChainResult(chain))
    verified += 1
    if (!chain.is_intact) broken += 1
  }
  if (workspaceId !== null && verified === 0) throw createUnknownWorkspaceError(workspaceId)
  if (broken > 0) {
    throw new StartError(
      'The audit log was changed: copy the database as it is before anything else; ' +
        'docs/operations/audit.md says what may have happened.',
    )
  }
}

function formatChainResult({ workspaceId, broken_at, finding }: VerifiedChain): string {
  const outcome = broken_at === null ? 'intact' : `broken at entry ${broken_at}`
  return `Workspace ${workspaceId}: ${outcome}. ${finding}\n`
}

async function sign(work: CommandContext, { workspaceId }: SignCommand): Promise<void> {
  const { database, keys, now, printOutput: print } = work
  if (!(await listLoggedWorkspaces(database)).includes(workspaceId))
    throw createUnknownWorkspaceError(workspaceId)
  const order = { workspaceId, keys, audit: createAuditTrail(keys), at: now() }
  const { outcome, scan } = await signChain(database, order)
  if (outcome === 'refused') {
    throw new StartError(
      `The log of workspace ${workspaceId} is not signed: ${scan.finding?.message}`,
    )
  }
  const did = outcome === 'signed' ? 'is signed now' : 'was signed already'
  print(`The log of workspace ${workspaceId} ${did}, ${scan.entries} entries.\n`)
}

async function exportLog(
  work: CommandContext,
  { workspaceId, path }: ExportCommand,
): Promise<void> {
  const { database, printStatus: tell, printOutput: print } = work
  if (!(await listLoggedWorkspaces(database)).includes(workspaceId))
    throw createUnknownWorkspaceError(workspaceId)
  if (path === null) {
    for await (const lines of exportAudit(database, workspaceId)) print(lines)
    return
  }
  if (existsSync(path)) throw createFileExistsError(path)
  await streamPrivateFile(path, async write => {
    for await (const lines of exportAudit(database, workspaceId)) await write(lines)
  }).catch(cause => {
    throw toFileError(path, cause)
  })
  tell(`The log of workspace ${workspaceId} is in ${path}, and last in it the signed head.\n`)
}

/** Other errors are not about the file. */
function toFileError(path: string, cause: unknown): unknown {
  const { code, syscall } = cause as NodeJS.ErrnoException
  if (code === 'EEXIST') return createFileExistsError(path, cause)
  if (syscall === undefined || code === undefined) return cause
  return new StartError(`The log cannot be written to ${path} (${code}).`, { cause })
}

function createFileExistsError(path: string, cause?: unknown): StartError {
  return new StartError(`${path} already exists: name a new file.`, { cause })
}

function createUnknownWorkspaceError(workspaceId: number): StartError {
  return new StartError(`There is no workspace ${workspaceId} here.`)
}

/** What `audit` is asked to do. */
export type AuditCommand = VerifyCommand | ExportCommand | SignCommand

export interface VerifyCommand {
  task: 'verify'
  /** Null: every one. */
  workspaceId: number | null
  /** A file that ends with the head of an earlier export; null: none. */
  headPath: string | null
}

export interface ExportCommand {
  task: 'export'
  workspaceId: number
  /** Null: standard output. */
  path: string | null
}

export interface SignCommand {
  task: 'sign'
  workspaceId: number
}

const USAGE =
  'Usage: npm run audit -- verify [--workspace ID] [--head FILE] | ' +
  'export --workspace ID [--out FILE] | sign --workspace ID'

/** Throws a StartError: how the command is used. */
export function parseAuditCommand([task, ...rest]: readonly string[]): AuditCommand {
  const { workspace, head = null, out = null } = parseOptions(rest)
  const workspaceId = workspace === undefined ? null : parseRowId(workspace)
  const isReadable = workspace === undefined || workspaceId !== null
  if (task === 'verify' && isReadable && out === null) {
    return { task, workspaceId, headPath: head }
  }
  if (task === 'export' && workspaceId !== null && head === null) {
    return { task, workspaceId, path: out }
  }
  if (task === 'sign' && workspaceId !== null && head === null && out === null) {
    return { task, workspaceId }
  }
  throw new StartError(USAGE)
}

function parseOptions(list: string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({ args: list, options: { workspace: text, head: text, out: text } }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}

/** A line with a head has a quarter of it. */
const LAST_BYTES = 1_024

/**
 * The head in the last line of a file, which may be a whole export, however long. Throws a
 * StartError when there is none, or none that this installation has signed: anybody could have
 * written it.
 */
export function readHeadFile(path: string, keys: AuditKeys): AuditHead {
  const found = parseHeadLine(readLastLine(path))
  if (found && isSignedHead(keys, found.head, found.signature)) return found.head
  throw new StartError(
    `${path} does not end with a head that a key of this installation signed: name an export of ` +
      'the log, and its key in SIGNALBOX_CREDENTIAL_KEY_PREVIOUS if it was changed.',
  )
}

function readLastLine(path: string): string {
  try {
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(LAST_BYTES)
      const start = Math.max(0, fstatSync(file).size - LAST_BYTES)
      const length = readSync(file, bytes, 0, LAST_BYTES, start)
      return bytes.toString('utf8', 0, length).trimEnd().split('\n').at(-1) ?? ''
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new StartError(`The head cannot be read from ${path} (${code}).`, { cause })
  }
}
