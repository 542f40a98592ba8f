import { randomUUID } from 'node:crypto'
import { issueTrackerSecret } from '../access/issue-tracker-secret.ts'
import { insertTracker } from '../access/store.ts'
import type { Database } from '../db/database.ts'
import { insertDestination } from '../delivery/destination-store.ts'
import { sealCredential } from '../delivery/sealed-credential.ts'

export interface ProvisioningRequest {
  workspaceName: string
  at: Date
  credentialKey: Buffer
}

export interface ProvisionedTracker {
  trackerId: string
  trackerSecret: string
  destinationId: string
  workspaceId: number
}

/**
 * Makes a workspace with a tracker, its secret and a destination of its own, for the simulator: a
 * new dataset number and a new token, which the simulator takes as they come.
 */
export async function provisionTracker(
  database: Database,
  { workspaceName, at, credentialKey }: ProvisioningRequest,
): Promise<ProvisionedTracker> {
  const trackerId = randomUUID()
  const workspaceId = await insertTracker(database, {
    id: trackerId,
    name: `${workspaceName} tracker`,
    workspaceName,
    createdAt: at,
  })
  const destinationId = await provisionDestination(database, { trackerId, at, credentialKey })
  const trackerSecret = await issueTrackerSecret(database, { trackerId, issuedAt: at })
  return { trackerId, trackerSecret, destinationId, workspaceId }
}

export interface DestinationRequest {
  trackerId: string
  at: Date
  credentialKey: Buffer
}

/** Makes the tracker's destination and returns its id. */
export async function provisionDestination(
  database: Database,
  { trackerId, at, credentialKey }: DestinationRequest,
): Promise<string> {
  const id = randomUUID()
  await insertDestination(database, {
    trackerId,
    id,
    datasetId: newDatasetId(),
    sealedCredential: sealCredential(credentialKey, id, `simulator-${randomUUID()}`),
    createdAt: at,
  })
  return id
}

/** Fifteen digits, as Meta's dataset ids have. */
function newDatasetId(): string {
  const digits = BigInt(`0x${randomUUID().replaceAll('-', '')}`) % 900_000_000_000_000n
  return String(100_000_000_000_000n + digits)
}
