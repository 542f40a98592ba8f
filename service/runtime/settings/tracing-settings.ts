import { matching, text, url } from './setting-types.ts'

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
