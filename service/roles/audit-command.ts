import { parseArgs } from 'node:util'
import { parseRowId } from '../util/row-id.ts'
import { StartError } from './start-error.ts'

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
export function auditCommand([task, ...rest]: readonly string[]): AuditCommand {
  const { workspace, head = null, out = null } = optionsOf(rest)
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

function optionsOf(list: string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({ args: list, options: { workspace: text, head: text, out: text } }).values
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}
