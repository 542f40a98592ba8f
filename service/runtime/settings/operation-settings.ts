import { integer, matching, postgresUrl, text, url } from './setting-types.ts'

/** Under the names of OpenTelemetry, which every exporter of traces has. */
export const TRACING_SETTINGS = {
  tracesEndpoint: url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', {
    description: 'Receives traces by OTLP over HTTP (protobuf). Unset: the next setting.',
  }),
  otlpEndpoint: url('OTEL_EXPORTER_OTLP_ENDPOINT', {
    part: given => given.replace(/\/+$/, ''),
    description: 'The same without the path /v1/traces, such as http://127.0.0.1:4318. Unset: off.',
  }),
  otlpHeaders: matching('OTEL_EXPORTER_OTLP_HEADERS', {
    pattern: /^[^\s=,]+=[^,]*(,[^\s=,]+=[^,]*){0,15}$/,
    requirement: 'be 1 to 16 comma-separated pairs such as api-key=abc',
    isSecret: true,
    description: 'Headers of the requests with traces, such as a key. Values are percent-decoded.',
  }),
  otelServiceName: text('OTEL_SERVICE_NAME', {
    default: 'signalbox',
    description: 'The name of this service in traces.',
  }),
  traceShare: matching('OTEL_TRACES_SAMPLER_ARG', {
    pattern: /^(0(\.\d{1,6})?|1(\.0{1,6})?)$/,
    requirement: 'be a number from 0 to 1',
    default: '1',
    description:
      "Share of traces that are sampled. A caller's traceparent decides for its request.",
  }),
}

interface TracesEndpoints {
  tracesEndpoint: string | undefined
  otlpEndpoint: string | undefined
}

/** Where traces go; null where none are exported. */
export function findTracesUrl({ tracesEndpoint, otlpEndpoint }: TracesEndpoints): string | null {
  return tracesEndpoint ?? (otlpEndpoint === undefined ? null : `${otlpEndpoint}/v1/traces`)
}

/** A copy of the store that answers reads of history. */
export const REPLICA_SETTINGS = {
  replicaUrl: postgresUrl('SIGNALBOX_REPLICA_URL', {
    description:
      'A streaming standby of DATABASE_URL that answers lists and reports of the dashboard. ' +
      'Unset: none.',
  }),
  replicaLagSecondsMax: integer('SIGNALBOX_REPLICA_LAG_SECONDS_MAX', {
    default: 10,
    min: 3,
    max: 600,
    description: 'A standby that is further behind is not read; DATABASE_URL answers instead.',
  }),
}

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
  pageWithdrawalRatePerMinute: integer('SIGNALBOX_PAGE_WITHDRAWAL_RATE_PER_MINUTE', {
    default: 30,
    max: 100_000,
    description:
      "Withdrawals of consent per minute and visitor's address with a publishable key, and 20 " +
      'times as many for a tracker; per process. 0: no limit.',
  }),
  pageWithdrawalAlertPerHour: integer('SIGNALBOX_PAGE_WITHDRAWAL_ALERT_PER_HOUR', {
    default: 1_000,
    max: 1_000_000,
    description:
      'Withdrawals of consent by pages of a tracker within an hour that raise an alert. 0: none.',
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
