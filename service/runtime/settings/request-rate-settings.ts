import { integer } from './setting-types.ts'

/** How often trackers, pages and clients without an account may call. */
export const REQUEST_RATE_SETTINGS = {
  trackerRatePerSecond: integer('SIGNALBOX_TRACKER_RATE_PER_SECOND', {
    default: 1_000,
    max: 100_000,
    description:
      'Requests per second of one tracker, with bursts of twice that; per process. 0: no limit.',
  }),
  publishableRatePerSecond: integer('SIGNALBOX_PUBLISHABLE_RATE_PER_SECOND', {
    default: 1_000,
    max: 100_000,
    description:
      'Events per second of a publishable key; bursts of twice that; per process. 0: no limit.',
  }),
  browserRatePerMinute: integer('SIGNALBOX_BROWSER_RATE_PER_MINUTE', {
    default: 1_200,
    max: 100_000,
    description:
      "Events per minute and visitor's address with a publishable key; per process. 0: no limit.",
  }),
  sandboxRatePerMinute: integer('SIGNALBOX_SANDBOX_RATE_PER_MINUTE', {
    default: 60,
    max: 100_000,
    description: 'Sandbox requests per minute and client address; per process. 0: no limit.',
  }),
  failedAuthRatePerMinute: integer('SIGNALBOX_FAILED_AUTH_RATE_PER_MINUTE', {
    default: 600,
    max: 100_000,
    description: 'Failed authentications per minute and address; per process. 0: no limit.',
  }),
}
