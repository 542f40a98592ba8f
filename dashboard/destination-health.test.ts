import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DestinationStatus } from '@signalbox/contract/session/destinations.ts'
import { describeHealth } from './src/destinations/destination-health.ts'

type Changes = Partial<Omit<DestinationStatus, 'destination'>> & {
  destination?: Partial<DestinationStatus['destination']>
}

function statusOf({ destination = {}, ...changes }: Changes = {}): DestinationStatus {
  const at = '2026-11-21T12:00:00.000Z'
  return {
    destination: {
      id: '1',
      workspace_id: 1,
      signal_tracker_id: '1',
      platform_ad_account_id: null,
      type: 'meta',
      credential_source: 'oauth_connection',
      config: {},
      status: 'active',
      created_at: at,
      updated_at: at,
      ...destination,
    },
    name: null,
    paused_at: null,
    target: '1234567890',
    credential: 'accepted',
    backoff: null,
    routing: {},
    next_check_at: null,
    queue: {
      waiting: 0,
      retrying: 0,
      in_flight: 0,
      is_lower_bound: false,
      oldest_at: null,
      next_attempt_at: null,
    },
    test_mode_seconds_left: null,
    last_request: null,
    alerts: [],
    ...changes,
  }
}

it('names what keeps a destination from sending, the most serious cause first', () => {
  const at = { since: '2026-11-21T12:00:00.000Z', until: '2026-11-21T12:00:10.000Z' }
  const backoff = { cause: 'unreachable', ...at } as const
  const cases: [DestinationStatus, string, string][] = [
    [statusOf(), 'Active', 'brand'],
    [statusOf({ credential: 'untried' }), 'Not used yet', 'gray'],
    [statusOf({ backoff: { ...backoff, cause: 'throttled' } }), 'Throttled', 'yellow'],
    [statusOf({ backoff: { ...backoff, cause: 'request_limit' } }), 'Request limit', 'yellow'],
    [statusOf({ backoff }), 'Unreachable', 'yellow'],
    [statusOf({ backoff, credential: 'unreadable' }), 'Unreadable credential', 'red'],
    [statusOf({ backoff, destination: { status: 'inactive' } }), 'Rejected', 'red'],
    [
      statusOf({ destination: { status: 'inactive' }, paused_at: at.since, credential: 'untried' }),
      'Paused',
      'yellow',
    ],
  ]
  for (const [status, label, color] of cases) {
    const health = describeHealth(status)
    assert.deepEqual([health.label, health.color], [label, color])
  }
})

it('says why a destination is paused, in the words of the platform', () => {
  const config = { status_reason: 'The platform rejects the credential (code 190).' }
  const { sentence } = describeHealth(statusOf({ destination: { status: 'inactive', config } }))
  assert.match(sentence ?? '', /^The platform rejects the credential \(code 190\)\. Events wait/)
})
