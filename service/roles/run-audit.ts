import { existsSync } from 'node:fs'
import { streamPrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import { listLoggedWorkspaces } from '../audit/audit-read-store.ts'
import { createAuditTrail } from '../audit/audit-store.ts'
import { exportAudit } from '../audit/export-audit.ts'
import { signChain } from '../audit/sign-heads.ts'
import { type AuditKeys, deriveAuditKeys } from '../audit/signed-head.ts'
import { type VerifiedChain, verifyChains } from '../audit/verify-chains.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import {
  auditCommand,
  type ExportCommand,
  type SignCommand,
  type VerifyCommand,
} from './audit-command.ts'
import { openStore } from './open-store.ts'
import { readHeadFile } from './read-head-file.ts'
import type { RoleContext } from './role.ts'
import { StartError } from './start-error.ts'

/** Shows whether the audit logs are as they were written, or writes one of them out. */
export async function runAudit(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const command = auditCommand(argumentList)
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'audit', embedded: 'join' })
  try {
    const { database } = store
    await requireCurrentSchema(database)
    const work = {
      ...context,
      database,
      keys: deriveAuditKeys(loadCredentialKeys(settings, 'refuse')),
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

interface Work extends RoleContext {
  database: Database
  keys: AuditKeys
}

async function verify(work: Work, { workspaceId, headPath }: VerifyCommand): Promise<void> {
  const { database, keys, settings, now, tell, print } = work
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
    print(chainLine(chain))
    verified += 1
    if (!chain.is_intact) broken += 1
  }
  if (workspaceId !== null && verified === 0) throw noWorkspace(workspaceId)
  if (broken > 0) {
    throw new StartError(
      'The audit log was changed: copy the database as it is before anything else; ' +
        'docs/operations/audit.md says what may have happened.',
    )
  }
}

function chainLine({ workspaceId, broken_at, finding }: VerifiedChain): string {
  const outcome = broken_at === null ? 'intact' : `broken at entry ${broken_at}`
  return `Workspace ${workspaceId}: ${outcome}. ${finding}\n`
}

async function sign(work: Work, { workspaceId }: SignCommand): Promise<void> {
  const { database, keys, now, print } = work
  if (!(await listLoggedWorkspaces(database)).includes(workspaceId)) throw noWorkspace(workspaceId)
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

async function exportLog(work: Work, { workspaceId, path }: ExportCommand): Promise<void> {
  const { database, tell, print } = work
  if (!(await listLoggedWorkspaces(database)).includes(workspaceId)) throw noWorkspace(workspaceId)
  if (path === null) {
    for await (const lines of exportAudit(database, workspaceId)) print(lines)
    return
  }
  if (existsSync(path)) throw isThere(path)
  await streamPrivateFile(path, async write => {
    for await (const lines of exportAudit(database, workspaceId)) await write(lines)
  }).catch(cause => {
    throw fileError(path, cause)
  })
  tell(`The log of workspace ${workspaceId} is in ${path}, and last in it the signed head.\n`)
}

/** Other errors are not about the file. */
function fileError(path: string, cause: unknown): unknown {
  const { code, syscall } = cause as NodeJS.ErrnoException
  if (code === 'EEXIST') return isThere(path, cause)
  if (syscall === undefined || code === undefined) return cause
  return new StartError(`The log cannot be written to ${path} (${code}).`, { cause })
}

function isThere(path: string, cause?: unknown): StartError {
  return new StartError(`${path} is there already: name a file that is not.`, { cause })
}

function noWorkspace(workspaceId: number): StartError {
  return new StartError(`There is no workspace ${workspaceId} here.`)
}
