import { randomInt, randomUUID } from 'node:crypto'
import type { Connection, OutboundEvent, Platform, SendAnswer } from '../platform.ts'
import { classifyTransportError, noAnswer, readMetaAnswer } from './answer.ts'
import { joinClickCookies } from './click-cookies.ts'
import { type MetaOptions, readResponseText } from './graph-api.ts'
import { canMatchPerson, MATCH_KEYS } from './match-keys.ts'
import { normalizeMetaIdentity } from './normalize-identity.ts'
import { metaPayload } from './payload.ts'
import { retryAfterSeconds, usageWaitSeconds } from './rate-limit-headers.ts'
import { metaReports } from './reports/client.ts'
import { type MetaTarget, parseMetaTarget } from './target.ts'
import { validateMetaEvent } from './validate-event.ts'

const BATCH_EVENTS_MAX = 1_000
const DAY_SECONDS = 86_400
const WINDOW_DAYS = { default: 7, physical_store: 62 }
/** An answer to a batch is a few hundred bytes. */
const ANSWER_BYTES_MAX = 65_536
const TRACE_CHARACTERS_MAX = 100

/** Meta's Conversions API over HTTP. The token travels in a header, so that no URL log holds it. */
export function metaPlatform(options: MetaOptions): Platform<MetaTarget> {
  return {
    name: 'meta',
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: actionSource =>
      DAY_SECONDS *
      (actionSource === 'physical_store' ? WINDOW_DAYS.physical_store : WINDOW_DAYS.default),
    parseTarget: parseMetaTarget,
    normalizeIdentity: normalizeMetaIdentity,
    joinClickIds: joinClickCookies,
    canMatchPerson,
    validateEvent: validateMetaEvent,
    send: (connection, events) => sendBatch(options, connection, events),
    ...metaReports(options),
    matchKeys: MATCH_KEYS,
    createTestCode,
    createSimulatorDestination,
  }
}

async function sendBatch(
  options: MetaOptions,
  connection: Connection<MetaTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const place = endpointOf(options, connection)
  if (!place) return noAnswer('config', UNWRITABLE)
  try {
    const response = await fetch(place.url, {
      method: 'POST',
      headers: place.headers,
      body: JSON.stringify(metaPayload(events, connection.testCode)),
      // Elsewhere the token would be told to whoever the answer names.
      redirect: 'manual',
      signal: AbortSignal.timeout(options.timeoutMilliseconds),
    })
    const { text } = await readResponseText(response, ANSWER_BYTES_MAX)
    const header = (name: string) => response.headers.get(name)
    const answer = {
      status: response.status,
      body: withoutToken(text, connection.accessToken),
      waitSeconds: Math.max(usageWaitSeconds(header), retryAfterSeconds(header)),
      traceId: header('x-fb-trace-id')?.slice(0, TRACE_CHARACTERS_MAX) ?? null,
    }
    return readMetaAnswer(answer, events.length)
  } catch (error) {
    return classifyTransportError(error)
  }
}

const UNWRITABLE =
  'The access token or the dataset id holds characters that no request can carry: enter it again.'

/** Null when no request can carry the target. What is thrown then may quote the token. */
function endpointOf(
  { baseUrl, version }: MetaOptions,
  { target, accessToken }: Connection<MetaTarget>,
) {
  try {
    return {
      url: new URL(`${baseUrl}/${version}/${encodeURIComponent(target.datasetId)}/events`),
      headers: new Headers({
        authorization: `Bearer ${accessToken}`,
        'content-type': 'application/json',
      }),
    }
  } catch {
    return null
  }
}

/** Meta repeats a malformed token in its message, and answers are kept and shown. */
function withoutToken(text: string, token: string): string {
  return token === '' ? text : text.replaceAll(token, '[redacted]')
}

/** In the form of Meta's own codes. Meta answers 200 to a code that it does not know, too. */
function createTestCode(): string {
  return `TEST${randomInt(10_000, 100_000)}`
}

/** The simulator takes any number and any token. Fifteen digits, as Meta's dataset ids have. */
function createSimulatorDestination() {
  const digits = BigInt(`0x${randomUUID().replaceAll('-', '')}`) % 900_000_000_000_000n
  return {
    config: { dataset_id: String(100_000_000_000_000n + digits) },
    accessToken: `simulator-${randomUUID()}`,
  }
}
