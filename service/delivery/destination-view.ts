import type { Destination as DestinationView } from '@signalbox/contract/destinations.ts'
import type { Destination } from './destination-store.ts'

/** A destination as reads show it: never its credential, sealed or not. */
export function destinationView(
  destination: Destination,
  { workspaceId, at }: { workspaceId: number; at: Date },
): DestinationView {
  const { testModeUntil } = destination
  return {
    id: destination.id,
    workspace_id: workspaceId,
    signal_tracker_id: destination.trackerId,
    platform_ad_account_id: destination.platformAdAccountId,
    type: 'meta',
    credential_source: 'oauth_connection',
    config: {
      dataset_id: destination.datasetId,
      test_event_code: destination.testEventCode,
      test_mode_until: isTestModeOn(destination, at)
        ? (testModeUntil?.toISOString() ?? null)
        : null,
      status_reason: destination.statusReason,
    },
    status: destination.status,
    created_at: destination.createdAt.toISOString(),
    updated_at: destination.updatedAt.toISOString(),
  }
}

/** Test mode ends by its time alone: nobody has to switch it off. */
export function isTestModeOn(
  { testModeUntil }: Pick<Destination, 'testModeUntil'>,
  at: Date,
): boolean {
  return testModeUntil !== null && testModeUntil > at
}
