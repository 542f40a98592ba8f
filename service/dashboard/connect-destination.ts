import type {
  CredentialSubmission,
  DestinationSubmission,
} from '@signalbox/contract/session/destinations.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import { FieldErrorList } from '../runtime/http/validator.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { setCredential } from '../signals/delivery/credential-store.ts'
import {
  assertDestinationId,
  createDestination,
  destinationNotFound,
} from '../signals/delivery/destination-resource.ts'
import { type Destination, findDestination } from '../signals/delivery/destination-store.ts'
import {
  describeCredentialProblem,
  parseCredentialInput,
  TAKES_ANY_CREDENTIAL,
} from '../signals/platforms/credentials.ts'
import type { Platform, TargetConfig } from '../signals/platforms/platform.ts'
import { findAdAccount } from '../workspaces/users/ad-account-store.ts'
import { requireRecentAuthentication } from '../workspaces/users/reauthentication.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'

interface TrackerScope {
  user: CurrentUser
  tracker: TrackerIdentity
}

export interface DestinationScope extends TrackerScope {
  /** From the path, not validated. */
  destinationId: string
}

/**
 * Creates a destination for a platform of the registry. Throws a 403 refusal until the person has
 * confirmed their identity, because a stolen session must not send events elsewhere, and a 422
 * refusal that names the invalid fields.
 */
export async function connectDestination(
  context: DashboardContext,
  { user, tracker, submission }: TrackerScope & { submission: DestinationSubmission },
): Promise<Destination> {
  requireRecentAuthentication(user, context.now())
  const platform = context.platforms.find(submission.type)
  if (!platform) {
    const names = context.platforms.all.map(({ name }) => name).join(', ')
    throw Refusal.ofFields({ type: [`The type field must be one of: ${names}.`] })
  }
  const { config, accessToken } = parseConnectionInput(platform, {
    config: submission.config,
    accessToken: submission.access_token,
  })
  const platformAdAccountId = submission.ad_account_id ?? null
  const { workspaceId, trackerId } = tracker
  if (platformAdAccountId !== null) {
    await assertAdAccount(context, { workspaceId, adAccountId: platformAdAccountId })
  }
  const [actor, at] = [userActor(user), context.now()]
  const input = { tracker, platform, config, accessToken, platformAdAccountId, actor, at }
  const destination = await createDestination(context, input)
  context.onDestinationChanged(trackerId)
  return destination
}

async function assertAdAccount(
  { database }: DashboardContext,
  key: { workspaceId: number; adAccountId: number },
): Promise<void> {
  const account = await findAdAccount(database, key)
  if (account?.status === 'active') return
  throw Refusal.ofFields({ ad_account_id: ['Choose an active ad account of this workspace.'] })
}

/** Replaces the credential, which also resumes a destination. Throws as `connectDestination`. */
export async function replaceDestinationCredential(
  context: DashboardContext,
  {
    user,
    tracker,
    destinationId,
    submission,
  }: DestinationScope & { submission: CredentialSubmission },
): Promise<Destination> {
  requireRecentAuthentication(user, context.now())
  const { trackerId } = tracker
  const before = await requireDestination(context, { tracker, destinationId })
  const { accessToken, config } = readReplacement(context, before, submission)
  const [actor, at] = [userActor(user), context.now()]
  const change = { ...tracker, destinationId: before.id, accessToken, config, actor, at }
  if (!(await setCredential(context, context.credentialKeys, change))) throw destinationNotFound()
  context.onDestinationChanged(trackerId)
  return requireDestination(context, { tracker, destinationId })
}

/** The credential and the members that change. Without any, the platform need not be known. */
function readReplacement(
  { platforms }: DashboardContext,
  { platform: name, config: current }: Destination,
  { access_token, config: input = {} }: CredentialSubmission,
): { accessToken: string; config: Record<string, unknown> } {
  const platform = platforms.find(name)
  if (Object.keys(input).length === 0) {
    // Its worker judges the credential of a platform that this process does not know.
    const accessToken = parseTokenInput(platform ?? TAKES_ANY_CREDENTIAL, access_token)
    return { accessToken, config: {} }
  }
  if (!platform) throw Refusal.ofFields({ config: [`This process does not know ${name}.`] })
  const given = { config: input, accessToken: access_token }
  const { accessToken, config } = parseConnectionInput(platform, given, current)
  const changed = Object.entries(config).filter(([member, value]) => current[member] !== value)
  return { accessToken, config: Object.fromEntries(changed) }
}

async function requireDestination(
  { database }: DashboardContext,
  { tracker, destinationId }: Pick<DestinationScope, 'tracker' | 'destinationId'>,
): Promise<Destination> {
  assertDestinationId(destinationId)
  const destination = await findDestination(database, tracker.trackerId, destinationId)
  if (!destination || destination.disconnectedAt) throw destinationNotFound()
  return destination
}

interface ConnectionInput {
  config: Record<string, unknown>
  accessToken: string
}

/**
 * Reads what a person enters to connect a destination: the members that the platform asks for and a
 * credential of a kind that it takes, without the white space around them. Members that are left
 * out keep their value in `current`. Throws a 422 refusal that names each unknown member, and each
 * wrong field by its label, says where to find the value, and never repeats a credential.
 */
function parseConnectionInput(
  platform: Platform,
  { config, accessToken }: ConnectionInput,
  current: TargetConfig = {},
): { config: TargetConfig; accessToken: string } {
  const errors = new FieldErrorList()
  addUnknownErrors(errors, platform, config)
  const given = readTarget(errors, platform, { ...current, ...withoutUndefined(config) })
  const token = readToken(errors, platform, accessToken)
  if (!errors.isEmpty || token === null) throw Refusal.ofFields(errors.toErrors())
  return { config: given, accessToken: token }
}

/** As `parseConnectionInput`, where the target stays as it is. */
function parseTokenInput(platform: Pick<Platform, 'credentialForms'>, input: string): string {
  const errors = new FieldErrorList()
  const token = readToken(errors, platform, input)
  if (token === null) throw Refusal.ofFields(errors.toErrors())
  return token
}

/** A misspelled member would be left out in silence. */
function addUnknownErrors(
  errors: FieldErrorList,
  { targetFields }: Platform,
  config: Record<string, unknown>,
): void {
  for (const name of Object.keys(config)) {
    if (!targetFields.some(field => field.name === name)) errors.addUnknownMember('config', name)
  }
}

function withoutUndefined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

function readTarget(
  errors: FieldErrorList,
  { targetFields, parseTarget }: Platform,
  members: TargetConfig,
): TargetConfig {
  const given: TargetConfig = {}
  for (const { name, label, hint, optional = false, isValid } of targetFields) {
    const value = members[name]
    const text = typeof value === 'string' ? value.trim() : ''
    if (text !== '') given[name] = text
    if (text === '' && !optional) {
      errors.add(`config.${name}`, `The ${label} is required. ${hint}`)
    }
    if (text !== '' && !isValid(text)) {
      errors.add(`config.${name}`, `The ${label} has an invalid format. ${hint}`)
    }
  }
  if (errors.isEmpty && parseTarget(given) === null) {
    throw new Error('a platform refuses a target whose members are all valid')
  }
  return given
}

function readToken(
  errors: FieldErrorList,
  platform: Pick<Platform, 'credentialForms'>,
  input: string,
): string | null {
  const read = parseCredentialInput(platform, input)
  if ('text' in read) return read.text
  errors.add('access_token', describeCredentialProblem(platform, input))
  return null
}
