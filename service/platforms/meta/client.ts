import type { OutboundEvent, Platform, PlatformTarget } from '../platform.ts'
import type { SendAnswer } from '../send-outcome.ts'
import { noAnswer, readMetaAnswer } from './answer.ts'
import { metaEventFault } from './event-fault.ts'
import { metaPayload } from './payload.ts'
import { usageWaitSeconds } from './usage-headers.ts'

const BATCH_EVENTS_MAX = 1_000
const DAY_SECONDS = 86_400
const WINDOW_DAYS = { default: 7, physical_store: 62 }
const ANSWER_BYTES_MAX = 65_536
const TRACE_CHARACTERS_MAX = 100

export interface MetaOptions {
  /** The Graph API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v26.0`. */
  version: string
  timeoutMilliseconds: number
}

/** Meta's Conversions API over HTTP. The token travels in a header, so that no URL log holds it. */
export function metaPlatform(options: MetaOptions): Platform {
  return {
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: actionSource =>
      DAY_SECONDS *
      (actionSource === 'physical_store' ? WINDOW_DAYS.physical_store : WINDOW_DAYS.default),
    findFault: metaEventFault,
    send: (target, events) => sendBatch(options, target, events),
  }
}

async function sendBatch(
  { baseUrl, version, timeoutMilliseconds }: MetaOptions,
  target: PlatformTarget,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  try {
    const dataset = encodeURIComponent(target.datasetId)
    const response = await fetch(`${baseUrl}/${version}/${dataset}/events`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${target.accessToken}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(metaPayload(events, target.testEventCode)),
      // Elsewhere the token would be told to whoever the answer names.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMilliseconds),
    })
    const answer = {
      status: response.status,
      body: withoutToken(await readText(response), target.accessToken),
      waitSeconds: usageWaitSeconds(name => response.headers.get(name)),
      traceId: response.headers.get('x-fb-trace-id')?.slice(0, TRACE_CHARACTERS_MAX) ?? null,
    }
    return readMetaAnswer(answer, events.length)
  } catch (error) {
    return transportFailure(error)
  }
}

/** An answer is a few hundred bytes; a proxy's page may be anything. */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Meta repeats a malformed token in its message, and answers are kept and shown. */
function withoutToken(text: string, token: string): string {
  return token === '' ? text : text.replaceAll(token, '[redacted]')
}

/** Nothing reached the platform: a plain retry. Anything later leaves the outcome unknown. */
const NEVER_SENT_CODES = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

function transportFailure(error: unknown): SendAnswer {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return noAnswer('unknown', 'The platform did not answer in time.')
  }
  const code = codeOf(error)
  if (NEVER_SENT_CODES.has(code)) {
    return noAnswer('retry', `The platform could not be reached (${code}).`)
  }
  return noAnswer('unknown', `The connection to the platform broke (${code}).`)
}

function codeOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: string; errors?: { code?: string }[] } }
  return cause?.code ?? cause?.errors?.[0]?.code ?? 'no code'
}
