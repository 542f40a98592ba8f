import { Histogram } from 'prom-client'
import type { Platform } from '../platforms/platform.ts'
import type { UnavailableCause } from '../platforms/platform-reports.ts'
import type { SendOutcome } from '../platforms/send-outcome.ts'
import { labelCounter } from './label-counter.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

const OUTCOMES = Object.keys({
  accepted: true,
  retry: true,
  throttle: true,
  auth: true,
  config: true,
  permanent: true,
  unknown: true,
} satisfies Record<SendOutcome, true>) as SendOutcome[]

const READ_OUTCOMES = Object.keys({
  read: true,
  permission: true,
  credential: true,
  throttled: true,
  out_of_reach: true,
  out_of_range: true,
  unreadable: true,
} satisfies Record<UnavailableCause | 'read', true>) as (UnavailableCause | 'read')[]

/** A platform's answer takes tenths of a second; after ten seconds nobody waits for it. */
const SECONDS_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 2, 3, 5, 7.5, 10]

/** The same platform, with its requests and reads counted by what came of them. */
export function meteredPlatform(registry: MetricsRegistry, platform: Platform): Platform {
  return {
    ...platform,
    ...meteredSending(registry, platform),
    ...meteredReading(registry, platform),
  }
}

function meteredSending(registry: MetricsRegistry, platform: Platform): Pick<Platform, 'send'> {
  const countRequest = labelCounter(registry, {
    name: 'signalbox_platform_requests_total',
    help: 'Requests to the platform, by what its answer means.',
    label: 'outcome',
    values: OUTCOMES,
  })
  const countEvents = labelCounter(registry, {
    name: 'signalbox_platform_request_events_total',
    help: 'Events in these requests; one that is sent again counts again.',
    label: 'outcome',
    values: OUTCOMES,
  })
  const durations = new Histogram({
    name: 'signalbox_platform_request_duration_seconds',
    help: 'Time until the platform answered, or until nobody waited any longer.',
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  })
  return {
    async send(target, events) {
      const start = performance.now()
      const answer = await platform.send(target, events)
      durations.observe((performance.now() - start) / 1_000)
      countRequest(answer.outcome)
      countEvents(answer.outcome, events.length)
      return answer
    },
  }
}

function meteredReading(
  registry: MetricsRegistry,
  platform: Platform,
): Pick<Platform, 'readDayCounts' | 'readMatchQuality'> {
  const countRead = labelCounter(registry, {
    name: 'signalbox_platform_reads_total',
    help: 'Reports asked of the platform, by what came of it.',
    label: 'outcome',
    values: READ_OUTCOMES,
  })
  return {
    async readDayCounts(target, day, source) {
      const answer = await platform.readDayCounts(target, day, source)
      countRead(answer.kind === 'unavailable' ? answer.cause : 'read')
      return answer
    },
    async readMatchQuality(target) {
      const answer = await platform.readMatchQuality(target)
      countRead(answer.kind === 'unavailable' ? answer.cause : 'read')
      return answer
    },
  }
}
