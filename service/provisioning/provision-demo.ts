import { endKey } from '../access/end-key.ts'
import { issueKey, type KeyKind, type KeyScope, LIVE_KEYS_MAX } from '../access/issue-key.ts'
import {
  findFirstTracker,
  findTrackerByKey,
  listLiveKeys,
  type TrackerIdentity,
} from '../access/store.ts'
import { tokenDigest } from '../access/token-format.ts'
import { auditTrail } from '../agents/audit/audit-trail.ts'
import { auditKeys } from '../agents/audit/head-signature.ts'
import type { Database } from '../db/database.ts'
import { findDestinationRoutes } from '../delivery/destination-store.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import {
  type Credentials,
  type FoundCredentials,
  readCredentialsFile,
  writeCredentialsFile,
} from './credentials-file.ts'
import { demoExecutionToken } from './demo-execution-token.ts'
import { demoAdAccount, demoOwner, type OwnerCredentials } from './provision-owner.ts'
import { provisionDestination, provisionTracker } from './provision-tracker.ts'

export interface DemoRequest {
  path: string
  baseUrl: string
  simulatorUrl: string | null
  at: Date
  credentialKeys: CredentialKeys
  /** The store lies in the same folder as the file, so nobody else can hold its secrets. */
  isStoreOurs: boolean
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
  const audit = auditTrail(auditKeys(request.credentialKeys))
  const scope = { database, audit }
  const issued = (await stillValid(database, known)) ?? (await newlyIssued(scope, request))
  if (!issued) return false
  const { trackerId, workspaceId } = issued
  const keyOf = (kind: KeyKind, found: string | undefined) =>
    liveKey(scope, { trackerId, workspaceId, kind, found, at: request.at })
  const credentials: Credentials = {
    base_url: request.baseUrl,
    tracker_id: issued.trackerId,
    tracker_secret: issued.trackerSecret,
    publishable_key: await keyOf('publishable', issued.publishableKey),
    forwarding_secret: await keyOf('forwarding', issued.forwardingSecret),
    destination_id: issued.destinationId,
    simulator_url: request.simulatorUrl,
    ...(await peopleOf(scope, request, { issued, known })),
  }
  if (JSON.stringify(credentials) === JSON.stringify(known)) return true
  writeCredentialsFile(request.path, credentials)
  return true
}

interface People {
  issued: Issued
  known: FoundCredentials | null
}

/** Who owns the demo, and for which ad account it is. */
async function peopleOf(
  { database, audit }: KeyScope,
  { baseUrl, at }: DemoRequest,
  { issued, known }: People,
): Promise<PeopleCredentials> {
  const { workspaceId, trackerId, destinationId } = issued
  const mustChangePassword = baseUrl.startsWith('https:')
  const owner = await demoOwner(database, { workspaceId, mustChangePassword, at }, known ?? {})
  const account = { workspaceId, trackerId, destinationId, at }
  const adAccountId = await demoAdAccount(database, account, known?.ad_account_id)
  const token = { workspaceId, adAccountId, ownerEmail: owner.owner_email, at }
  const scope = { database, audit }
  const execution_token = await demoExecutionToken(scope, token, known?.execution_token)
  return { workspace_id: workspaceId, ad_account_id: adAccountId, ...owner, execution_token }
}

type PeopleCredentials = OwnerCredentials &
  Pick<Credentials, 'workspace_id' | 'ad_account_id' | 'execution_token'>

interface Issued {
  trackerId: string
  workspaceId: number
  trackerSecret: string
  destinationId: string
  publishableKey?: string | undefined
  forwardingSecret?: string | undefined
}

/** The file may have been written for another store; only this one knows what opens it. */
async function stillValid(
  database: Database,
  known: FoundCredentials | null,
): Promise<Issued | null> {
  if (!known) return null
  const { tracker_id: trackerId, tracker_secret: trackerSecret } = known
  const opened = await findTrackerByKey(database, 'tracker_secret', tokenDigest(trackerSecret))
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

async function newlyIssued(
  scope: KeyScope,
  { at, credentialKeys, isStoreOurs }: DemoRequest,
): Promise<Issued | null> {
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
    await endKey(scope, { trackerId, workspaceId, kind, digest, lastCharacters }, at)
  }
  const trackerSecret = await issueKey(scope, { trackerId, workspaceId, kind, issuedAt: at })
  return { trackerId, workspaceId, trackerSecret, destinationId }
}

interface WantedKey extends TrackerIdentity {
  kind: KeyKind
  /** What the file says, which may be of another tracker, or nothing. */
  found: string | undefined
  at: Date
}

/**
 * The key of the file, or a new one. Pages and forwarders may use others, so these stay; when there
 * is no room for one more, the oldest makes it.
 */
async function liveKey(
  scope: KeyScope,
  { trackerId, workspaceId, kind, found, at }: WantedKey,
): Promise<string> {
  const { database } = scope
  const opened = found && (await findTrackerByKey(database, kind, tokenDigest(found)))
  if (found && opened && opened.trackerId === trackerId) return found
  const live = await listLiveKeys(database, trackerId, kind)
  for (const key of live.slice(0, -(LIVE_KEYS_MAX - 1))) {
    const { key_digest: digest, last_characters: lastCharacters } = key
    await endKey(scope, { trackerId, workspaceId, kind, digest, lastCharacters }, at)
  }
  const origins = kind === 'publishable' ? DEMO_ORIGINS : []
  return issueKey(scope, { trackerId, workspaceId, kind, origins, issuedAt: at })
}
