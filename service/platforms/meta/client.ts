import { randomInt, randomUUID } from 'node:crypto'
import type { Connection, OutboundEvent, Platform, SendAnswer } from '../platform.ts'
import { classifyTransportError, noAnswer, readMetaAnswer } from './answer.ts'
import {
  buildGraphHeaders,
  buildGraphUrl,
  type MetaOptions,
  readResponseText,
  readWaitSeconds,
  redactToken,
  UNWRITABLE_MESSAGE,
} from './graph-api.ts'
import { joinClickCookies, normalizeMetaIdentity } from './normalize-identity.ts'
import { type MetaTarget, metaPayload, parseMetaTarget } from './payload.ts'
import { metaReports } from './reports/client.ts'
import { canMatchPerson, MATCH_KEYS, validateMetaEvent } from './validate-event.ts'

const BATCH_EVENTS_MAX = 1_000
const DAY_SECONDS = 86_400
const WINDOW_DAYS = { default: 7, physical_store: 62 }
/** An answer to a batch is a few hundred bytes. */
const ANSWER_BYTES_MAX = 65_536
const TRACE_CHARACTERS_MAX = 100

/** Meta's Conversions API over HTTP. The token travels in a header, because URLs are logged. */
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
  const url = buildGraphUrl(options, [connection.target.datasetId, 'events'])
  const headers = buildGraphHeaders(connection.accessToken)
  if (!url || !headers) return noAnswer('config', UNWRITABLE_MESSAGE)
  headers.set('content-type', 'application/json')
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify(metaPayload(events, connection.testCode)),
      // A redirect would send the token to the address that the answer names.
      redirect: 'manual',
      signal: AbortSignal.timeout(options.timeoutMilliseconds),
    })
    const { text } = await readResponseText(response, ANSWER_BYTES_MAX)
    const answer = {
      status: response.status,
      body: redactToken(text, connection.accessToken),
      waitSeconds: readWaitSeconds(response),
      traceId: response.headers.get('x-fb-trace-id')?.slice(0, TRACE_CHARACTERS_MAX) ?? null,
    }
    return readMetaAnswer(answer, events.length)
  } catch (error) {
    return classifyTransportError(error)
  }
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
