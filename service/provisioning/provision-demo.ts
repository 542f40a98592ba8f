import { issueTrackerSecret } from '../access/issue-tracker-secret.ts'
import { findFirstTracker, findTrackerByKey, listLiveKeys, revokeKey } from '../access/store.ts'
import { tokenDigest } from '../access/token-format.ts'
import type { Database } from '../db/database.ts'
import { findDestinationRoutes } from '../delivery/destination-store.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import { type Credentials, readCredentialsFile, writeCredentialsFile } from './credentials-file.ts'
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

/**
 * On an empty store, makes the demo workspace and writes its credentials. Later starts keep the
 * file true: addresses may have changed, and a file that was lost gets a new secret, since the old
 * one is nowhere but in the lost file. A start that was killed half-way is completed. In a store
 * of somebody else that has trackers nothing is touched: their secrets are in use elsewhere.
 * Returns whether the file holds credentials of this store.
 */
export async function provisionDemo(database: Database, request: DemoRequest): Promise<boolean> {
  const known = readCredentialsFile(request.path)
  const issued = (await stillValid(database, known)) ?? (await newlyIssued(database, request))
  if (!issued) return false
  const credentials: Credentials = {
    base_url: request.baseUrl,
    tracker_id: issued.trackerId,
    tracker_secret: issued.trackerSecret,
    destination_id: issued.destinationId,
    simulator_url: request.simulatorUrl,
  }
  if (JSON.stringify(credentials) === JSON.stringify(known)) return true
  writeCredentialsFile(request.path, credentials)
  return true
}

interface Issued {
  trackerId: string
  trackerSecret: string
  destinationId: string
}

/** The file may have been written for another store; only this one knows what opens it. */
async function stillValid(database: Database, known: Credentials | null): Promise<Issued | null> {
  if (!known) return null
  const { tracker_id: trackerId, tracker_secret: trackerSecret } = known
  const opened = await findTrackerByKey(database, 'tracker_secret', tokenDigest(trackerSecret))
  if (opened?.trackerId !== trackerId) return null
  return { trackerId, trackerSecret, destinationId: known.destination_id }
}

async function newlyIssued(
  database: Database,
  { at, credentialKeys, isStoreOurs }: DemoRequest,
): Promise<Issued | null> {
  const existing = await findFirstTracker(database)
  if (!existing) {
    return provisionTracker(database, { workspaceName: 'Demo', at, credentialKeys })
  }
  if (!isStoreOurs) return null
  const { trackerId } = existing
  const [route] = await findDestinationRoutes(database, trackerId, at)
  const destinationId =
    route?.id ?? (await provisionDestination(database, { trackerId, at, credentialKeys }))
  for (const key of await listLiveKeys(database, trackerId, 'tracker_secret')) {
    await revokeKey(database, { trackerId, digest: key.key_digest, revokedAt: at })
  }
  const trackerSecret = await issueTrackerSecret(database, { trackerId, issuedAt: at })
  return { trackerId, trackerSecret, destinationId }
}
