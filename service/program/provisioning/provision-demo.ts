import type { AuditedContext } from '../../audit/audit-store.ts'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { hashToken } from '../../runtime/util/token-format.ts'
import { findLiveKey, listLiveKeys } from '../../signals/access/key-store.ts'
import {
  issueKey,
  type KeyKind,
  LIVE_KEYS_MAX,
  revokeTrackerKey,
} from '../../signals/access/tracker-keys.ts'
import { findFirstTracker, type TrackerIdentity } from '../../signals/access/tracker-store.ts'
import { findDestinationRoutes } from '../../signals/delivery/plan-store.ts'
import { listLiveTokenIds } from '../../workspaces/oauth/execution-token-store.ts'
import {
  issueExecutionToken,
  revokeTokenWithAudit,
} from '../../workspaces/oauth/execution-tokens.ts'
import { findExecutionTokenPrincipal } from '../../workspaces/oauth/principal-store.ts'
import { listOwnedAdAccounts } from '../../workspaces/users/ad-account-store.ts'
import { findUserByEmail } from '../../workspaces/users/user-store.ts'
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
  logger: ServiceLogger
  /** The store is in the same folder as the file, so its secrets are in use nowhere else. */
  isOwnDatabase: boolean
  /** The setting; undefined: only in a store of our own. */
  demo?: 'on' | 'off' | undefined
}

/** Pages that a developer serves on the same machine, on any port. */
const DEMO_ORIGINS = ['http://127.0.0.1:*']

/**
 * Creates the demo workspace in an empty store and writes its credentials. Later starts update the
 * file: changed addresses, keys that an earlier version did not write, and a new secret if the file
 * was lost. A start that was interrupted is completed. An external store gets a demo only if the
 * operator asks for it, and none when it has trackers, because their secrets are in use elsewhere:
 * a production service must not start with an owner and keys in a file. Returns whether the file
 * holds credentials of this store.
 */
export async function provisionDemo(database: Database, request: DemoRequest): Promise<boolean> {
  const stored = readCredentialsFile(request.path)
  const audit = createAuditTrail(deriveAuditKeys(request.credentialKeys), request.logger)
  const scope = { database, audit }
  const issued =
    (await findValidCredentials(database, stored)) ?? (await issueCredentials(scope, request))
  if (!issued) return false
  const { trackerId, workspaceId } = issued
  const findKey = (kind: KeyKind, key: string | undefined) =>
    findOrIssueKey(scope, { trackerId, workspaceId, kind, stored: key, at: request.at })
  const credentials: Credentials = {
    base_url: request.baseUrl,
    tracker_id: issued.trackerId,
    tracker_secret: issued.trackerSecret,
    publishable_key: await findKey('publishable', issued.publishableKey),
    forwarding_secret: await findKey('forwarding', issued.forwardingSecret),
    destination_id: issued.destinationId,
    simulator_url: request.simulatorUrl,
    ...(await provisionDemoUsers(scope, request, { issued, stored })),
  }
  if (JSON.stringify(credentials) === JSON.stringify(stored)) return true
  writeCredentialsFile(request.path, credentials)
  return true
}

interface DemoUsersInput {
  issued: IssuedCredentials
  stored: StoredCredentials | null
}

/** Provisions the owner, the ad account and the execution token. */
async function provisionDemoUsers(
  { database, audit }: AuditedContext,
  { baseUrl, at }: DemoRequest,
  { issued, stored }: DemoUsersInput,
): Promise<UserCredentials> {
  const { workspaceId, trackerId, destinationId } = issued
  const mustChangePassword = baseUrl.startsWith('https:')
  const owner = await provisionDemoOwner(
    database,
    { workspaceId, mustChangePassword, at },
    stored ?? {},
  )
  const account = { workspaceId, trackerId, destinationId, at }
  const adAccountId = await provisionDemoAdAccount(database, account, stored?.ad_account_id)
  const token = { workspaceId, adAccountId, ownerEmail: owner.owner_email, at }
  const scope = { database, audit }
  const execution_token = await provisionDemoToken(scope, token, stored?.execution_token)
  return { workspace_id: workspaceId, ad_account_id: adAccountId, ...owner, execution_token }
}

type UserCredentials = OwnerCredentials &
  Pick<Credentials, 'workspace_id' | 'ad_account_id' | 'execution_token'>

interface IssuedCredentials {
  trackerId: string
  workspaceId: number
  trackerSecret: string
  destinationId: string
  publishableKey?: string | undefined
  forwardingSecret?: string | undefined
}

/** Checks the stored secret, because the file may belong to another store. */
async function findValidCredentials(
  database: Database,
  stored: StoredCredentials | null,
): Promise<IssuedCredentials | null> {
  if (!stored) return null
  const { tracker_id: trackerId, tracker_secret: trackerSecret } = stored
  const tracker = await findLiveKey(database, 'tracker_secret', hashToken(trackerSecret))
  if (tracker?.trackerId !== trackerId) return null
  return {
    trackerId,
    workspaceId: tracker.workspaceId,
    trackerSecret,
    destinationId: stored.destination_id,
    publishableKey: stored.publishable_key,
    forwardingSecret: stored.forwarding_secret,
  }
}

async function issueCredentials(
  scope: AuditedContext,
  { at, credentialKeys, logger, isOwnDatabase, demo }: DemoRequest,
): Promise<IssuedCredentials | null> {
  if ((demo ?? (isOwnDatabase ? 'on' : 'off')) === 'off') return null
  const { database } = scope
  const existing = await findFirstTracker(database)
  if (!existing) {
    const demo = { workspaceName: 'Demo', origins: DEMO_ORIGINS }
    return provisionTracker(database, { ...demo, at, credentialKeys, logger })
  }
  if (!isOwnDatabase) return null
  const { trackerId, workspaceId } = existing
  const [route] = await findDestinationRoutes(database, trackerId, at)
  const destinationId =
    route?.id ?? (await provisionDestination(database, { trackerId, at, credentialKeys }))
  const kind = 'tracker_secret'
  for (const key of await listLiveKeys(database, trackerId)) {
    if (key.kind === kind) await revokeTrackerKey(scope, { trackerId, workspaceId, ...key }, at)
  }
  const trackerSecret = await issueKey(scope, { trackerId, workspaceId, kind, issuedAt: at })
  return { trackerId, workspaceId, trackerSecret, destinationId }
}

interface DemoKeyRequest extends TrackerIdentity {
  kind: KeyKind
  /** From the file; it may belong to another tracker. */
  stored: string | undefined
  at: Date
}

/**
 * Returns the key of the file, or issues a new one. Other keys stay valid, because pages and
 * forwarders may use them; at the limit, the oldest is revoked.
 */
async function findOrIssueKey(
  scope: AuditedContext,
  { trackerId, workspaceId, kind, stored, at }: DemoKeyRequest,
): Promise<string> {
  const { database } = scope
  const tracker = stored && (await findLiveKey(database, kind, hashToken(stored)))
  if (stored && tracker && tracker.trackerId === trackerId) return stored
  const live = (await listLiveKeys(database, trackerId)).filter(key => key.kind === kind)
  for (const key of live.slice(0, -(LIVE_KEYS_MAX - 1))) {
    await revokeTrackerKey(scope, { trackerId, workspaceId, ...key }, at)
  }
  const origins = kind === 'publishable' ? DEMO_ORIGINS : []
  return issueKey(scope, { trackerId, workspaceId, kind, origins, issuedAt: at })
}

/** The name of the file's token, which tells it from tokens that people issue. */
const DEMO_TOKEN_NAME = 'credentials.json'

interface DemoTokenRequest {
  workspaceId: number
  adAccountId: number
  /** Null when the demo has no owner. */
  ownerEmail: string | null
  at: Date
}

/** Starting the program issues its credentials. */
const OPERATOR = { type: 'operator', id: null } as const

/**
 * Returns the stored execution token while it is valid for the ad account, else a new one for 30
 * days. Returns null when no one could have issued it: there is no owner, or the owner, the
 * workspace or the ad account is disabled.
 */
async function provisionDemoToken(
  scope: AuditedContext,
  request: DemoTokenRequest,
  stored: string | null | undefined,
): Promise<string | null> {
  const { database } = scope
  const { workspaceId, adAccountId, ownerEmail, at } = request
  const owner = ownerEmail === null ? null : await findUserByEmail(database, ownerEmail)
  if (!owner) return null
  if (typeof stored === 'string') {
    const principal = await findExecutionTokenPrincipal(database, hashToken(stored), at)
    if (principal?.adAccountId === adAccountId) return stored
  }
  const choices = await listOwnedAdAccounts(database, owner.userId)
  if (!choices.some(choice => choice.adAccountId === adAccountId)) return null
  await revokeLostTokens(scope, request)
  const { token } = await issueExecutionToken(scope, {
    workspaceId,
    adAccountId,
    issuedBy: owner.userId,
    issuedAt: at,
    actor: OPERATOR,
    tier: 'write',
    days: 30,
    name: DEMO_TOKEN_NAME,
  })
  return token
}

/** Revokes earlier tokens of the file: only a lost file still contains them. */
async function revokeLostTokens(
  scope: AuditedContext,
  { workspaceId, at }: DemoTokenRequest,
): Promise<void> {
  const lost = { workspaceId, name: DEMO_TOKEN_NAME, at }
  for (const tokenId of await listLiveTokenIds(scope.database, lost)) {
    await revokeTokenWithAudit(scope, { workspaceId, tokenId, actor: OPERATOR, at })
  }
}
