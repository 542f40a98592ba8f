import { parseArgs } from 'node:util'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { parseEmailAddress } from '../people/account-fields.ts'
import { setPersonStatus } from '../people/person-store.ts'
import { setWorkspaceStatus } from '../people/workspace-store.ts'
import { parseRowId } from '../util/row-id.ts'
import { openStore } from './open-store.ts'
import { type RoleContext, StartError } from './role.ts'

const USAGE = 'Usage: npm run people -- disable|enable --address ADDRESS | --workspace ID'

/** Shuts a person or a whole workspace out, or lets them in again; it takes effect at once. */
export async function runPeople(
  { settings, logger, printStatus: tell }: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  const command = parsePeopleCommand(argumentList)
  const store = await openStore({ settings, logger, role: 'people', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    if (!(await setStatus(store.database, command))) {
      throw new StartError(`There is no ${command.kind} ${command.name} here.`)
    }
    tell(`The ${command.kind} ${command.name} is ${command.status} now.\n`)
  } finally {
    await store.close()
  }
}

type PeopleCommand = { status: 'active' | 'disabled' } & (
  | { kind: 'person'; name: string }
  | { kind: 'workspace'; name: number }
)

function setStatus(database: Database, command: PeopleCommand): Promise<boolean> {
  const { status } = command
  switch (command.kind) {
    case 'person':
      return setPersonStatus(database, command.name, status)
    case 'workspace':
      return setWorkspaceStatus(database, command.name, status)
  }
}

function parsePeopleCommand(argumentList: readonly string[]): PeopleCommand {
  const { task, address, workspace } = parseOptions(argumentList)
  const status = task === 'disable' ? 'disabled' : task === 'enable' ? 'active' : null
  const email = parseEmailAddress(address)
  const workspaceId = workspace === undefined ? null : parseRowId(workspace)
  if (status && email && workspace === undefined) return { status, kind: 'person', name: email }
  if (status && workspaceId && address === undefined) {
    return { status, kind: 'workspace', name: workspaceId }
  }
  throw new StartError(USAGE)
}

function parseOptions(argumentList: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...argumentList],
      allowPositionals: true,
      options: { address: { type: 'string' }, workspace: { type: 'string' } },
    })
    return { ...values, task: positionals.length === 1 ? positionals[0] : undefined }
  } catch (cause) {
    throw new StartError(USAGE, { cause })
  }
}
