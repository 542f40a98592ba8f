import { Command } from 'commander'
import type { AuditedContext } from '../../audit/audit-store.ts'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import { revokeCredentialsOfUser } from '../../workspaces/oauth/execution-tokens.ts'
import { createSecurityEventRecorder } from '../../workspaces/users/security-events.ts'
import { parseEmailAddress } from '../../workspaces/users/user-input.ts'
import {
  changeUserStatus,
  changeWorkspaceStatus,
  removeSecondFactors,
} from '../../workspaces/users/user-status.ts'
import { findUserByEmail } from '../../workspaces/users/user-store.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { runOnStore } from './open-store.ts'
import { parseRowIdOf } from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'

/**
 * Disables or enables a user or a whole workspace, or removes the second factors of a user who lost
 * them, with immediate effect.
 */
export async function runPeople(context: RoleContext, request: PeopleRequest): Promise<void> {
  await runOnStore(context, 'people', async ({ database }) => {
    const keys = deriveAuditKeys(loadCredentialKeys(context.settings, 'fail'))
    const audit = createAuditTrail(keys, context.logger)
    const change = { ...context, database, audit }
    if (!(await applyRequest(change, request))) {
      throw new StartError(`There is no ${request.kind} ${request.name} here.`)
    }
    if (request.kind === 'person' && request.status === 'disabled') {
      await revokeCredentials(change, request.name)
    }
    context.printStatus(`The ${request.kind} ${request.name} is ${request.status} now.\n`)
  })
}

export type PeopleRequest =
  | { kind: 'person'; name: string; status: 'active' | 'disabled' | typeof NO_FACTORS }
  | { kind: 'workspace'; name: number; status: 'active' | 'disabled' }

/** As in "The person ada@shop.example is without second factors now." */
const NO_FACTORS = 'without second factors'

interface ChangeContext extends AuditedContext {
  logger: ServiceLogger
  now: () => Date
}

/** For good: enabling the person again must not revive what agents hold. */
async function revokeCredentials(context: ChangeContext, email: string): Promise<void> {
  const user = await findUserByEmail(context.database, email)
  if (user) await revokeCredentialsOfUser(context, user.userId)
}

function applyRequest(context: ChangeContext, request: PeopleRequest): Promise<boolean> {
  const { kind, name, status } = request
  if (kind === 'workspace') return changeWorkspaceStatus(context, name, status)
  if (status === NO_FACTORS) {
    // A command has no client address.
    const recordSecurityEvent = createSecurityEventRecorder({ ...context, addressOf: () => '' })
    return removeSecondFactors({ ...context, recordSecurityEvent }, name)
  }
  return changeUserStatus(context, name, status)
}

export function definePeopleCommand(handle: (request: PeopleRequest) => Promise<void>): Command {
  const command = new Command()
  for (const [task, status] of Object.entries(STATUSES)) {
    command
      .command(task)
      .description(`${task} a user or a workspace`)
      .argument('[address]', 'email address of the user')
      .option('--address <address>', 'the same, as an option')
      .option('--workspace <id>', 'ID of the workspace', parseRowIdOf('--workspace'))
      .action((address: string | undefined, options: UsersOptions) =>
        handle({ status, ...readTarget(task, address, options) }),
      )
  }
  command
    .command('remove-factors')
    .description('remove the authenticator app and the passkeys of a user who lost them')
    .argument('<address>', 'email address of the user')
    .action((address: string) => {
      const name = parseAddress('remove-factors', address)
      return handle({ kind: 'person', name, status: NO_FACTORS })
    })
  return command
}

const STATUSES = { disable: 'disabled', enable: 'active' } as const

interface UsersOptions {
  address?: string
  workspace?: number
}

function readTarget(task: string, argument: string | undefined, options: UsersOptions) {
  const { workspace } = options
  const given = [argument, options.address, workspace].filter(value => value !== undefined)
  if (given.length !== 1) {
    throw new StartError(
      `people ${task} takes one email address, or --workspace and the ID of a workspace.`,
    )
  }
  if (workspace !== undefined) return { kind: 'workspace', name: workspace } as const
  const address = argument ?? options.address
  return { kind: 'person', name: parseAddress(task, address) } as const
}

function parseAddress(task: string, address: string | undefined): string {
  const email = parseEmailAddress(address)
  if (email === null) throw new StartError(`people ${task} takes an email address, not ${address}.`)
  return email
}
