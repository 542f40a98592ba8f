import { storedText } from '@signalbox/contract/closed-set.ts'
import type { Destination as DestinationView } from '@signalbox/contract/destinations.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { TargetConfig } from '../platforms/platform.ts'
import type { Destination } from './destination-store.ts'

/** A destination as the API returns it, without its credential. */
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
    type: destination.platform,
    credential_source: 'oauth_connection',
    config: {
      ...destination.config,
      test_event_code: destination.testCode,
      test_mode_until: isTestModeOn(destination, at)
        ? (testModeUntil?.toISOString() ?? null)
        : null,
      status_reason: destination.statusReason,
    },
    status: storedText(destination.status),
    created_at: destination.createdAt.toISOString(),
    updated_at: destination.updatedAt.toISOString(),
  }
}

/** Test mode ends automatically at its time. */
export function isTestModeOn(
  { testModeUntil }: Pick<Destination, 'testModeUntil'>,
  at: Date,
): boolean {
  return testModeUntil !== null && testModeUntil > at
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Throws the 404 of an unknown destination when the path id is no UUID. */
export function assertDestinationId(id: string): void {
  if (!UUID.test(id)) throw destinationNotFound()
}

/** Also for a destination of another tracker, so that its existence is not disclosed. */
export function destinationNotFound(): Refusal {
  return Refusal.notFound('This tracker has no such destination.')
}

/** The members of `config` as one text. */
export function formatTarget(config: TargetConfig): string {
  return Object.values(config).join(' ')
}
