import { resolve } from 'node:path'
import { Command } from 'commander'
import { cancelPolicyOfFormerOwner } from '../../agents/policy/pending-policy.ts'
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
import { reserveCredentialsFile, writeKeyFile } from '../provisioning/credentials-file.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { addOwner } from '../provisioning/provision-owner.ts'
import { runOnStore } from './open-store.ts'
import { parseRowIdOf } from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'

/**
 * Adds an owner to a workspace, disables or enables a user or a whole workspace, or removes the
 * second factors of a user who lost them, with immediate effect.
 */
export async function runPeople(context: RoleContext, request: PeopleRequest): Promise<void> {
  await runOnStore(context, 'people', async ({ database }) => {
    const keys = deriveAuditKeys(loadCredentialKeys(context.settings, 'fail'))
    const audit = createAuditTrail(keys, context.logger)
    const change = { ...context, database, audit }
    if (request.kind === 'owner') return runAddOwner(change, request)
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
  | OwnerRequest

interface OwnerRequest {
  kind: 'owner'
  email: string
  workspaceId: number
  /** For the password of a new account. Undefined: only a person with an account is added. */
  path: string | undefined
}

type StatusRequest = Exclude<PeopleRequest, OwnerRequest>

/** As in "The person ada@shop.example is without second factors now." */
const NO_FACTORS = 'without second factors'

interface ChangeContext extends AuditedContext {
  logger: ServiceLogger
  now: () => Date
}

/** A password is only written to a file, which is reserved before the account exists. */
async function runAddOwner(
  context: ChangeContext & Pick<RoleContext, 'printStatus'>,
  { email, workspaceId, path }: OwnerRequest,
): Promise<void> {
  const hasAccount = (await findUserByEmail(context.database, email)) !== null
  if (!hasAccount && path === undefined) {
    throw new StartError(
      `${email} has no account yet: name a new file for the password with --out FILE.`,
    )
  }
  const releaseFile = hasAccount || path === undefined ? null : reserveCredentialsFile(path)
  const request = { workspaceId, email, at: context.now() }
  const added = await addOwner(context, request).catch(error => {
    releaseFile?.()
    throw error
  })
  if (added.result !== 'added') {
    releaseFile?.()
    if (added.result === 'unknown_workspace') {
      throw new StartError(`There is no workspace ${workspaceId} here.`)
    }
    return context.printStatus(`${email} is an owner of workspace ${workspaceId} already.\n`)
  }
  context.printStatus(`${email} is an owner of workspace ${workspaceId} now.\n`)
  if (added.password === null || path === undefined) return releaseFile?.()
  const file = { workspace_id: workspaceId, owner_email: email, owner_password: added.password }
  writeKeyFile(path, file)
  context.printStatus(`The password for the first sign-in is in ${path}\n`)
}

/** For good: enabling the person again must not revive what agents hold. */
async function revokeCredentials(context: ChangeContext, email: string): Promise<void> {
  const user = await findUserByEmail(context.database, email)
  if (user) await revokeCredentialsOfUser(context, user.userId)
}

function applyRequest(context: ChangeContext, request: StatusRequest): Promise<boolean> {
  const { kind, name, status } = request
  if (kind === 'workspace') return changeWorkspaceStatus(context, name, status)
  if (status === NO_FACTORS) {
    // A command has no client address.
    const recordSecurityEvent = createSecurityEventRecorder({ ...context, addressOf: () => '' })
    return removeSecondFactors({ ...context, recordSecurityEvent }, name)
  }
  const onRoleLost = cancelPolicyOfFormerOwner
  return changeUserStatus({ ...context, onRoleLost }, name, status)
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
    .command('add-owner')
    .description('make a person an owner of a workspace')
    .argument('<address>', 'email address of the person')
    .requiredOption('--workspace <id>', 'ID of the workspace', parseRowIdOf('--workspace'))
    .option('--out <file>', 'new file for the password of a person without an account')
    .action((address: string, { workspace, out }: { workspace: number; out?: string }) => {
      const email = parseAddress('add-owner', address)
      const path = out === undefined ? undefined : resolve(out)
      return handle({ kind: 'owner', email, workspaceId: workspace, path })
    })
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
