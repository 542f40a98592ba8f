import {
  findFirstTracker,
  findTrackerByKey,
  listLiveKeys,
  type TrackerIdentity,
} from '../access/store.ts'
import { hashToken } from '../access/token-format.ts'
import {
  issueKey,
  type KeyContext,
  type KeyKind,
  LIVE_KEYS_MAX,
  revokeTrackerKey,
} from '../access/tracker-keys.ts'
import { type AuditTrail, createAuditTrail } from '../audit/audit-store.ts'
import { deriveAuditKeys } from '../audit/signed-head.ts'
import type { Database } from '../db/database.ts'
import { findDestinationRoutes } from '../delivery/destination-store.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import { listExecutionTokens } from '../oauth/execution-token-store.ts'
import { issueExecutionToken, revokeTokenWithAudit } from '../oauth/execution-tokens.ts'
import { findExecutionTokenPrincipal } from '../oauth/principal-store.ts'
import { listOwnedAdAccounts } from '../people/ad-account-store.ts'
import { findPersonByEmail } from '../people/person-store.ts'
import {
  type Credentials,
  readCredentialsFile,
  type StoredCredentials,
  writeCredentialsFile,
} from './credentials-file.ts'
import {
  type OwnerCredentials,
  provisionDemoAdAccount,
  provisionDemoOwner,
} from './provision-owner.ts'
import { provisionDestination, provisionTracker } from './provision-tracker.ts'

export interface DemoRequest {
  path: string
  baseUrl: string
  simulatorUrl: string | null
  at: Date
  credentialKeys: CredentialKeys
  /** The store lies in the same folder as the file, so nobody else can hold its secrets. */
  isOwnDatabase: boolean
}

/** Pages that a developer serves on the same machine, under whichever port is free. */
const DEMO_ORIGINS = ['http://127.0.0.1:*']

/**
 * On an empty store, makes the demo workspace and writes its credentials. Later starts keep the
 * file true: addresses may have changed, and a file that was lost gets a new secret, since the old
 * one is nowhere but in the lost file. A file that lacks keys, because it is older than they are,
 * gets them. A start that was killed half-way is completed. In a store of somebody else that has
 * trackers nothing is touched: their secrets are in use elsewhere. Returns whether the file holds
 * credentials of this store.
 */
export async function provisionDemo(database: Database, request: DemoRequest): Promise<boolean> {
  const known = readCredentialsFile(request.path)
  const audit = createAuditTrail(deriveAuditKeys(request.credentialKeys))
  const scope = { database, audit }
  const issued =
    (await findValidCredentials(database, known)) ?? (await issueCredentials(scope, request))
  if (!issued) return false
  const { trackerId, workspaceId } = issued
  const keyOf = (kind: KeyKind, found: string | undefined) =>
    findOrIssueKey(scope, { trackerId, workspaceId, kind, found, at: request.at })
  const credentials: Credentials = {
    base_url: request.baseUrl,
    tracker_id: issued.trackerId,
    tracker_secret: issued.trackerSecret,
    publishable_key: await keyOf('publishable', issued.publishableKey),
    forwarding_secret: await keyOf('forwarding', issued.forwardingSecret),
    destination_id: issued.destinationId,
    simulator_url: request.simulatorUrl,
    ...(await provisionDemoPeople(scope, request, { issued, known })),
  }
  if (JSON.stringify(credentials) === JSON.stringify(known)) return true
  writeCredentialsFile(request.path, credentials)
  return true
}

interface DemoPeopleInput {
  issued: IssuedCredentials
  known: StoredCredentials | null
}

/** Who owns the demo, and for which ad account it is. */
async function provisionDemoPeople(
  { database, audit }: KeyContext,
  { baseUrl, at }: DemoRequest,
  { issued, known }: DemoPeopleInput,
): Promise<PeopleCredentials> {
  const { workspaceId, trackerId, destinationId } = issued
  const mustChangePassword = baseUrl.startsWith('https:')
  const owner = await provisionDemoOwner(
    database,
    { workspaceId, mustChangePassword, at },
    known ?? {},
  )
  const account = { workspaceId, trackerId, destinationId, at }
  const adAccountId = await provisionDemoAdAccount(database, account, known?.ad_account_id)
  const token = { workspaceId, adAccountId, ownerEmail: owner.owner_email, at }
  const scope = { database, audit }
  const execution_token = await provisionDemoToken(scope, token, known?.execution_token)
  return { workspace_id: workspaceId, ad_account_id: adAccountId, ...owner, execution_token }
}

type PeopleCredentials = OwnerCredentials &
  Pick<Credentials, 'workspace_id' | 'ad_account_id' | 'execution_token'>

interface IssuedCredentials {
  trackerId: string
  workspaceId: number
  trackerSecret: string
  destinationId: string
  publishableKey?: string | undefined
  forwardingSecret?: string | undefined
}

/** The file may have been written for another store; only this one knows what opens it. */
async function findValidCredentials(
  database: Database,
  known: StoredCredentials | null,
): Promise<IssuedCredentials | null> {
  if (!known) return null
  const { tracker_id: trackerId, tracker_secret: trackerSecret } = known
  const opened = await findTrackerByKey(database, 'tracker_secret', hashToken(trackerSecret))
  if (opened?.trackerId !== trackerId) return null
  return {
    trackerId,
    workspaceId: opened.workspaceId,
    trackerSecret,
    destinationId: known.destination_id,
    publishableKey: known.publishable_key,
    forwardingSecret: known.forwarding_secret,
  }
}

async function issueCredentials(
  scope: KeyContext,
  { at, credentialKeys, isOwnDatabase: isStoreOurs }: DemoRequest,
): Promise<IssuedCredentials | null> {
  const { database } = scope
  const existing = await findFirstTracker(database)
  if (!existing) {
    const demo = { workspaceName: 'Demo', origins: DEMO_ORIGINS }
    return provisionTracker(database, { ...demo, at, credentialKeys })
  }
  if (!isStoreOurs) return null
  const { trackerId, workspaceId } = existing
  const [route] = await findDestinationRoutes(database, trackerId, at)
  const destinationId =
    route?.id ?? (await provisionDestination(database, { trackerId, at, credentialKeys }))
  const kind = 'tracker_secret'
  for (const live of await listLiveKeys(database, trackerId, kind)) {
    const { key_digest: digest, last_characters: lastCharacters } = live
    await revokeTrackerKey(scope, { trackerId, workspaceId, kind, digest, lastCharacters }, at)
  }
  const trackerSecret = await issueKey(scope, { trackerId, workspaceId, kind, issuedAt: at })
  return { trackerId, workspaceId, trackerSecret, destinationId }
}

interface KeyRequest extends TrackerIdentity {
  kind: KeyKind
  /** What the file says, which may be of another tracker, or nothing. */
  found: string | undefined
  at: Date
}

/**
 * The key of the file, or a new one. Pages and forwarders may use others, so these stay; when there
 * is no room for one more, the oldest makes it.
 */
async function findOrIssueKey(
  scope: KeyContext,
  { trackerId, workspaceId, kind, found, at }: KeyRequest,
): Promise<string> {
  const { database } = scope
  const opened = found && (await findTrackerByKey(database, kind, hashToken(found)))
  if (found && opened && opened.trackerId === trackerId) return found
  const live = await listLiveKeys(database, trackerId, kind)
  for (const key of live.slice(0, -(LIVE_KEYS_MAX - 1))) {
    const { key_digest: digest, last_characters: lastCharacters } = key
    await revokeTrackerKey(scope, { trackerId, workspaceId, kind, digest, lastCharacters }, at)
  }
  const origins = kind === 'publishable' ? DEMO_ORIGINS : []
  return issueKey(scope, { trackerId, workspaceId, kind, origins, issuedAt: at })
}

/** By this name the token of the file is known among those that people issue. */
const DEMO_TOKEN_NAME = 'credentials.json'

interface DemoTokenRequest {
  workspaceId: number
  adAccountId: number
  /** Who answers for it; null where the demo's owner is gone. */
  ownerEmail: string | null
  at: Date
}

interface TokenScope {
  database: Database
  audit: AuditTrail
}

/** Who starts the program makes its files. */
const OPERATOR = { type: 'operator', id: null } as const

/**
 * The execution token of the demo's file (decisions, section 10): the one that it holds, as long
 * as that one opens the ad account, else a new one for 30 days. Null where nobody could have issued
 * it: there is no owner, or they, the workspace or the ad account are disabled.
 */
async function provisionDemoToken(
  scope: TokenScope,
  request: DemoTokenRequest,
  found: string | null | undefined,
): Promise<string | null> {
  const { database } = scope
  const { workspaceId, adAccountId, ownerEmail, at } = request
  const owner = ownerEmail === null ? null : await findPersonByEmail(database, ownerEmail)
  if (!owner) return null
  if (typeof found === 'string') {
    const bound = await findExecutionTokenPrincipal(database, hashToken(found), at)
    if (bound?.adAccountId === adAccountId) return found
  }
  const choices = await listOwnedAdAccounts(database, owner.userId)
  if (!choices.some(choice => choice.adAccountId === adAccountId)) return null
  await revokeLostTokens(scope, request)
  const { token } = await issueExecutionToken(scope, {
    ...{ workspaceId, adAccountId, issuedBy: owner.userId, issuedAt: at, actor: OPERATOR },
    ...{ tier: 'write', days: 30, name: DEMO_TOKEN_NAME },
  })
  return token
}

/** What the file held before is nowhere but in a lost file, and whoever has that may not use it. */
async function revokeLostTokens(
  scope: TokenScope,
  { workspaceId, at }: DemoTokenRequest,
): Promise<void> {
  for (const token of await listExecutionTokens(scope.database, workspaceId)) {
    const { id: tokenId, name, revoked_at, expires_at } = token
    if (name !== DEMO_TOKEN_NAME || revoked_at !== null || expires_at <= at) continue
    await revokeTokenWithAudit(scope, { workspaceId, tokenId, actor: OPERATOR, at })
  }
}
