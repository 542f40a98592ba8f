import { existsSync, readFileSync } from 'node:fs'
import { issueTrackerSecret } from '../access/issue-tracker-secret.ts'
import { findFirstTracker, listLiveKeys, revokeKey } from '../access/store.ts'
import type { Database } from '../db/database.ts'
import { findDestinationRoutes } from '../delivery/destination-store.ts'
import { type Credentials, writeCredentialsFile } from './credentials-file.ts'
import { provisionTracker } from './provision-tracker.ts'

export interface DemoRequest {
  path: string
  baseUrl: string
  simulatorUrl: string | null
  at: Date
  credentialKey: Buffer
}

/**
 * On an empty store, makes the demo workspace and writes its credentials. Later starts keep the
 * file true: addresses may have changed, and a file that was lost gets a new secret, since the old
 * one is nowhere but in the lost file.
 */
export async function provisionDemo(database: Database, request: DemoRequest): Promise<void> {
  const known = readCredentials(request.path)
  const existing = await findFirstTracker(database)
  const issued = existing
    ? await renewed(database, existing.trackerId, { known, at: request.at })
    : await provisionTracker(database, {
        workspaceName: 'Demo',
        at: request.at,
        credentialKey: request.credentialKey,
      })
  if (!issued) return
  const credentials: Credentials = {
    base_url: request.baseUrl,
    tracker_id: issued.trackerId,
    tracker_secret: issued.trackerSecret,
    destination_id: issued.destinationId,
    simulator_url: request.simulatorUrl,
  }
  if (JSON.stringify(credentials) === JSON.stringify(known)) return
  writeCredentialsFile(request.path, credentials)
}

interface Renewal {
  known: Credentials | null
  at: Date
}

async function renewed(database: Database, trackerId: string, { known, at }: Renewal) {
  if (known) {
    return {
      trackerId: known.tracker_id,
      trackerSecret: known.tracker_secret,
      destinationId: known.destination_id,
    }
  }
  const [route] = await findDestinationRoutes(database, trackerId, at)
  if (!route) return null
  for (const key of await listLiveKeys(database, trackerId, 'tracker_secret')) {
    await revokeKey(database, { trackerId, digest: key.key_digest, revokedAt: at })
  }
  const trackerSecret = await issueTrackerSecret(database, { trackerId, issuedAt: at })
  return { trackerId, trackerSecret, destinationId: route.id }
}

function readCredentials(path: string): Credentials | null {
  if (!existsSync(path)) return null
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Credentials
  } catch {
    return null
  }
}
