import { API_VERSION } from '@signalbox/contract/openapi-document.ts'
import { findTracesUrl } from '../../runtime/settings/tracing-settings.ts'
import type { RunningTracer } from '../../runtime/tracing/open-telemetry.ts'
import type { RoleContext } from './role.ts'

/** Null unless a receiver of traces is configured: then the SDK is not even loaded. */
export async function startTracing(
  { settings, logger }: Pick<RoleContext, 'settings' | 'logger'>,
  role: string,
): Promise<RunningTracer | null> {
  const url = findTracesUrl(settings)
  if (url === null) return null
  const { startOpenTelemetry } = await import('../../runtime/tracing/open-telemetry.ts')
  return startOpenTelemetry({
    url,
    headers: parseHeaders(settings.otlpHeaders ?? ''),
    serviceName: settings.otelServiceName,
    serviceVersion: API_VERSION,
    role,
    sampledShare: Number(settings.traceShare),
    onError: reason => logger.warn({ reason }, 'traces could not be exported'),
  })
}

/** Pairs as in the specification of OpenTelemetry: `name=value,name=value`. */
function parseHeaders(text: string): Record<string, string> {
  const pairs = text.split(',').filter(pair => pair !== '')
  return Object.fromEntries(
    pairs.map(pair => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at).trim(), percentDecode(pair.slice(at + 1).trim())]
    }),
  )
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
