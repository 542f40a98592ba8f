import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { streamPrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import { Command } from 'commander'
import { verifyProposalRecords } from '../../agents/proposals/verify-records.ts'
import { listLoggedWorkspaces } from '../../audit/audit-read-store.ts'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { exportAudit } from '../../audit/read-audit.ts'
import {
  type AuditHead,
  type AuditKeys,
  deriveAuditKeys,
  isSignedHead,
  parseHeadLine,
} from '../../audit/signed-head.ts'
import { signChain, type VerifiedChain, verifyChains } from '../../audit/verify-chains.ts'
import type { Database } from '../../runtime/db/database.ts'
import {
  hasContractKey,
  loadContractKeys,
  loadCredentialKeys,
} from '../provisioning/installation-keys.ts'
import { exportSecurityEvents } from './export-security-events.ts'
import { runOnStore } from './open-store.ts'
import { parseRowIdOf, parseTimeOf } from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'

/** Verifies the audit logs, exports one, signs one, or exports security events for a SIEM. */
export async function runAudit(context: RoleContext, request: AuditRequest): Promise<void> {
  const { settings } = context
  await runOnStore(context, 'audit', async ({ database }) => {
    const keys = deriveAuditKeys(loadCredentialKeys(settings, 'fail'))
    const command = { ...context, database, keys }
    switch (request.task) {
      case 'verify':
        return await verifyLogs(command, request)
      case 'export':
        return await exportLog(command, request)
      case 'sign':
        return await signLog(command, request)
      case 'events': {
        const lines = exportSecurityEvents(database, request.since)
        return await writeLines(command, lines, request.path)
      }
    }
  })
}

interface CommandContext extends RoleContext {
  database: Database
  keys: AuditKeys
}

async function verifyLogs(
  { database, keys, settings, now, printStatus, printOutput }: CommandContext,
  { workspaceId, headPath }: VerifyRequest,
): Promise<void> {
  const trustedHead = headPath === null ? null : readHeadFile(headPath, keys)
  if (trustedHead && workspaceId !== null && trustedHead.workspaceId !== workspaceId) {
    throw new StartError(`The head in ${headPath} belongs to workspace ${trustedHead.workspaceId}.`)
  }
  const { dataDirectory } = settings
  const onCheckpointError = (error: unknown) => {
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
    printStatus(
      `The checkpoint of this verification cannot be written to ${dataDirectory} (${code}).\n`,
    )
  }
  const verification = { dataDirectory, now: now(), verifyRecords: verifyProposalRecords }
  const context = { database, keys, ...verification, onCheckpointError }
  let [verified, broken] = [0, 0]
  for await (const chain of verifyChains(context, { workspaceId, trustedHead })) {
    printOutput(formatChainResult(chain))
    verified += 1
    if (!chain.is_intact) broken += 1
  }
  if (workspaceId !== null && verified === 0) throw createUnknownWorkspaceError(workspaceId)
  if (broken > 0) {
    throw new StartError(
      'The audit log was changed: copy the database as it is before you do anything else; ' +
        'docs/operations/audit.md explains the possible causes.',
    )
  }
}

function formatChainResult({ workspaceId, broken_at, finding }: VerifiedChain): string {
  const outcome = broken_at === null ? 'intact' : `broken at entry ${broken_at}`
  return `Workspace ${workspaceId}: ${outcome}. ${finding}\n`
}

async function signLog(
  { database, keys, now, logger, printOutput }: CommandContext,
  { workspaceId }: SignRequest,
): Promise<void> {
  await requireLog(database, workspaceId)
  const signing = { workspaceId, keys, audit: createAuditTrail(keys, logger), at: now() }
  const { outcome, scan } = await signChain(database, signing)
  if (outcome === 'refused') {
    throw new StartError(
      `The log of workspace ${workspaceId} is not signed: ${scan.finding?.message}`,
    )
  }
  const state = outcome === 'signed' ? 'is signed now' : 'was already signed'
  printOutput(`The log of workspace ${workspaceId} ${state}, ${scan.entries} entries.\n`)
}

async function exportLog(
  { database, settings, printStatus, printOutput }: CommandContext,
  { workspaceId, path }: ExportRequest,
): Promise<void> {
  await requireLog(database, workspaceId)
  const signingKey = hasContractKey(settings) ? (await loadContractKeys(settings)).current : null
  await writeLines({ printOutput }, exportAudit(database, { workspaceId, signingKey }), path)
  if (path === null) return
  printStatus(
    `The log of workspace ${workspaceId} is in ${path}; its last line is the signed head.\n`,
  )
}

/** To a new file, or to standard output when `path` is null. */
async function writeLines(
  { printOutput }: Pick<CommandContext, 'printOutput'>,
  lines: AsyncIterable<string>,
  path: string | null,
): Promise<void> {
  if (path === null) {
    for await (const chunk of lines) printOutput(chunk)
    return
  }
  if (existsSync(path)) throw createFileExistsError(path)
  await streamPrivateFile(path, async write => {
    for await (const chunk of lines) await write(chunk)
  }).catch(cause => {
    throw toFileError(path, cause)
  })
}

async function requireLog(database: Database, workspaceId: number): Promise<void> {
  const workspaces = await listLoggedWorkspaces(database)
  if (!workspaces.includes(workspaceId)) throw createUnknownWorkspaceError(workspaceId)
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

export type AuditRequest = VerifyRequest | ExportRequest | SignRequest | EventsRequest

interface VerifyRequest {
  task: 'verify'
  /** Null: all of them. */
  workspaceId: number | null
  /** A file that ends with the head of an earlier export; null: none. */
  headPath: string | null
}

interface ExportRequest {
  task: 'export'
  workspaceId: number
  /** Null: standard output. */
  path: string | null
}

interface EventsRequest {
  task: 'events'
  since: Date
  /** Null: standard output. */
  path: string | null
}

interface SignRequest {
  task: 'sign'
  workspaceId: number
}

export function defineAuditCommand(handle: (request: AuditRequest) => Promise<void>): Command {
  const command = new Command()
  const parseWorkspace = parseRowIdOf('--workspace')
  command
    .command('verify')
    .description('verify that no entry was changed, inserted or removed')
    .option('--workspace <id>', 'ID of a workspace; all by default', parseWorkspace)
    .option('--head <file>', 'earlier export, whose head must still be part of the log')
    .action(({ workspace = null, head = null }) =>
      handle({ task: 'verify', workspaceId: workspace, headPath: head }),
    )
  command
    .command('export')
    .description('write a log as NDJSON')
    .requiredOption('--workspace <id>', 'ID of the workspace', parseWorkspace)
    .option('--out <file>', 'new file; standard output by default')
    .action(({ workspace, out = null }) =>
      handle({ task: 'export', workspaceId: workspace, path: out }),
    )
  command
    .command('events')
    .description('write security events and audit entries as JSON lines, for a SIEM')
    .requiredOption('--since <time>', 'first day or time', parseTimeOf('--since'))
    .option('--out <file>', 'new file; standard output by default')
    .action(({ since, out = null }) => handle({ task: 'events', since, path: out }))
  command
    .command('sign')
    .description('sign a log whose key is lost')
    .requiredOption('--workspace <id>', 'ID of the workspace', parseWorkspace)
    .action(({ workspace }) => handle({ task: 'sign', workspaceId: workspace }))
  return command
}

/** A line with a head takes a quarter of it. */
const LAST_BYTES = 1_024

/**
 * The head in the last line of a file, which may be a whole export. Throws a StartError when there
 * is none, or none that a key of this installation signed: such a head proves nothing.
 */
function readHeadFile(path: string, keys: AuditKeys): AuditHead {
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
