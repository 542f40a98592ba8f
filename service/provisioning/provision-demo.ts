import { issueKey, type KeyKind, LIVE_KEYS_MAX } from '../access/issue-key.ts'
import { findFirstTracker, findTrackerByKey, listLiveKeys, revokeKey } from '../access/store.ts'
import { tokenDigest } from '../access/token-format.ts'
import type { Database } from '../db/database.ts'
import { findDestinationRoutes } from '../delivery/destination-store.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import {
  type Credentials,
  type FoundCredentials,
  readCredentialsFile,
  writeCredentialsFile,
} from './credentials-file.ts'
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
  const issued = (await stillValid(database, known)) ?? (await newlyIssued(database, request))
  if (!issued) return false
  const keyOf = (kind: KeyKind, found: string | undefined) =>
    liveKey(database, { kind, found, trackerId: issued.trackerId, at: request.at })
  const credentials: Credentials = {
    base_url: request.baseUrl,
    tracker_id: issued.trackerId,
    tracker_secret: issued.trackerSecret,
    publishable_key: await keyOf('publishable', issued.publishableKey),
    forwarding_secret: await keyOf('forwarding', issued.forwardingSecret),
    destination_id: issued.destinationId,
    simulator_url: request.simulatorUrl,
    ...(await peopleOf(database, request, { issued, known })),
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
  database: Database,
  { baseUrl, at }: DemoRequest,
  { issued, known }: People,
): Promise<Pick<Credentials, 'workspace_id' | 'ad_account_id' | keyof OwnerCredentials>> {
  const { workspaceId, trackerId, destinationId } = issued
  const mustChangePassword = baseUrl.startsWith('https:')
  const owner = await demoOwner(database, { workspaceId, mustChangePassword, at }, known ?? {})
  const account = { workspaceId, trackerId, destinationId, at }
  const ad_account_id = await demoAdAccount(database, account)
  return { workspace_id: workspaceId, ad_account_id, ...owner }
}

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
  database: Database,
  { at, credentialKeys, isStoreOurs }: DemoRequest,
): Promise<Issued | null> {
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
  for (const key of await listLiveKeys(database, trackerId, 'tracker_secret')) {
    await revokeKey(database, { trackerId, digest: key.key_digest, revokedAt: at })
  }
  const trackerSecret = await issueKey(database, {
    trackerId,
    kind: 'tracker_secret',
    issuedAt: at,
  })
  return { trackerId, workspaceId, trackerSecret, destinationId }
}

interface WantedKey {
  kind: KeyKind
  /** What the file says, which may be of another tracker, or nothing. */
  found: string | undefined
  trackerId: string
  at: Date
}

/**
 * The key of the file, or a new one. Pages and forwarders may use others, so these stay; when there
 * is no room for one more, the oldest makes it.
 */
async function liveKey(
  database: Database,
  { kind, found, trackerId, at }: WantedKey,
): Promise<string> {
  const opened = found && (await findTrackerByKey(database, kind, tokenDigest(found)))
  if (found && opened && opened.trackerId === trackerId) return found
  const live = await listLiveKeys(database, trackerId, kind)
  for (const { key_digest: digest } of live.slice(0, -(LIVE_KEYS_MAX - 1))) {
    await revokeKey(database, { trackerId, digest, revokedAt: at })
  }
  const origins = kind === 'publishable' ? DEMO_ORIGINS : []
  return issueKey(database, { trackerId, kind, origins, issuedAt: at })
}
