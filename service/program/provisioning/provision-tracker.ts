import { randomUUID } from 'node:crypto'
import type { DestinationRouting } from '@signalbox/contract/routing.ts'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import { type CredentialKeys, sealCredential } from '../../runtime/util/sealed-credential.ts'
import { issueKey } from '../../signals/access/tracker-keys.ts'
import { insertTracker, type TrackerIdentity } from '../../signals/access/tracker-store.ts'
import { insertDestination } from '../../signals/delivery/destination-store.ts'
import type { TargetConfig } from '../../signals/platforms/platform.ts'
import { createOfflinePlatforms } from '../../signals/platforms/registry.ts'
import { insertWorkspace } from '../../workspaces/users/workspace-store.ts'

/** Where a real platform receives events, with the token that may send there. */
export interface ConnectedDestination {
  /** The platform's name. */
  platform: string
  config: TargetConfig
  accessToken: string
}

interface ProvisioningRequest {
  workspaceName: string
  at: Date
  credentialKeys: CredentialKeys
  logger: ServiceLogger
  /** The origins that may use the publishable key. */
  origins?: readonly string[]
  /** Whether pages share their event IDs with the tracker secret. Default: true. */
  sharesPageIds?: boolean
  /** By default, the destination is for the simulator of the default platform. */
  connected?: ConnectedDestination | undefined
  /** By default, the destination gets every event under its own name. */
  routing?: DestinationRouting
}

export interface ProvisionedTracker {
  trackerId: string
  trackerSecret: string
  publishableKey: string
  forwardingSecret: string
  destinationId: string
  workspaceId: number
}

/** Creates a workspace with a tracker, one key of each kind and a destination. */
export async function provisionTracker(
  database: Database,
  { workspaceName, origins, sharesPageIds = true, ...request }: ProvisioningRequest,
): Promise<ProvisionedTracker> {
  const trackerId = randomUUID()
  const createdAt = request.at
  const workspaceId = await database.query.transaction().execute(async query => {
    const id = await insertWorkspace({ query }, { name: workspaceName, createdAt })
    const name = `${workspaceName} tracker`
    const tracker = { id: trackerId, workspaceId: id, name, createdAt, sharesPageIds }
    await insertTracker({ query }, tracker)
    return id
  })
  const destinationId = await provisionDestination(database, { trackerId, ...request })
  const keys = await issueKeys(database, { trackerId, workspaceId, origins, ...request })
  return { trackerId, ...keys, destinationId, workspaceId }
}

async function issueKeys(
  database: Database,
  { trackerId, workspaceId, origins = [], at, credentialKeys, logger }: KeysRequest,
) {
  const scope = { database, audit: createAuditTrail(deriveAuditKeys(credentialKeys), logger) }
  const key = { trackerId, workspaceId, issuedAt: at }
  return {
    trackerSecret: await issueKey(scope, { ...key, kind: 'tracker_secret' }),
    publishableKey: await issueKey(scope, { ...key, kind: 'publishable', origins }),
    forwardingSecret: await issueKey(scope, { ...key, kind: 'forwarding' }),
  }
}

type KeysRequest = TrackerIdentity &
  Pick<ProvisioningRequest, 'at' | 'credentialKeys' | 'logger'> & {
    origins: ProvisioningRequest['origins']
  }

interface DestinationRequest
  extends Omit<ProvisioningRequest, 'workspaceName' | 'origins' | 'sharesPageIds' | 'logger'> {
  trackerId: string
}

/** Creates a destination of a tracker and returns its ID. */
export async function provisionDestination(
  database: Database,
  { trackerId, at, credentialKeys, routing, ...request }: DestinationRequest,
): Promise<string> {
  const { connected = simulatorDestination() } = request
  const id = randomUUID()
  const { accessToken, ...target } = connected
  await insertDestination(database, {
    ...target,
    trackerId,
    id,
    sealedCredential: sealCredential(credentialKeys, id, accessToken),
    createdAt: at,
    ...(routing && { routing }),
  })
  return id
}

function simulatorDestination(): ConnectedDestination {
  const platform = createOfflinePlatforms().default
  const { config, credential: accessToken } = platform.createSimulatorDestination()
  return { platform: platform.name, config, accessToken }
}
