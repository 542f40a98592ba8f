import { createHash, randomInt, randomUUID } from 'node:crypto'
import { parseJsonObject } from '../../../runtime/util/is-object.ts'
import { DAY_SECONDS } from '../../../runtime/util/time.ts'
import {
  type PublicClientOptions,
  parseWebhookUrl,
  requestPublicHost,
  type SigningSecrets,
  signWebhook,
} from '../../../runtime/webhooks/client.ts'
import type { PlatformConsentNeeds } from '../../consent/consent-statement.ts'
import { classifyTransportError, noAnswer, retryAfterSeconds } from '../client.ts'
import type { CredentialForm } from '../credentials.ts'
import type {
  Connection,
  OutboundEvent,
  Platform,
  PlatformCredentials,
  SendAnswer,
  SendOutcome,
  TargetConfig,
  TargetField,
} from '../platform.ts'
import { toSendError, unsupportedReport } from '../send-answer.ts'
import { joinWebhookClicks, MATCH_KEYS, normalizeWebhookIdentity } from './normalize-identity.ts'
import { buildErasureMessage, buildMessage, validateWebhookEvent } from './payload.ts'

export interface WebhookOptions {
  /** It stands for every endpoint; null: endpoints get their messages themselves. */
  simulatorUrl: string | null
  timeoutMilliseconds: number
  now: () => Date
  /** Only tests replace how hosts are resolved and trusted; no setting leads here. */
  network?: PublicClientOptions
}

/** The endpoint of a destination. */
export interface WebhookTarget {
  url: string
}

const BATCH_EVENTS_MAX = 100
/** A warehouse takes events of any age that the service still has. */
const WINDOW_DAYS = 90

/** An endpoint of the customer's own: signed batches by the conventions of Standard Webhooks. */
export function webhookPlatform(options: WebhookOptions): Platform<WebhookTarget> {
  return {
    name: 'webhook',
    identityMark: 'w',
    label: 'Webhook',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    consentNeeds: WEBHOOK_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: () => WINDOW_DAYS * DAY_SECONDS,
    parseTarget: parseWebhookTarget,
    normalizeIdentity: normalizeWebhookIdentity,
    joinClickIds: joinWebhookClicks,
    // Every event is wanted, with a person or without one.
    canMatchPerson: () => true,
    validateEvent: validateWebhookEvent,
    buildBody: ({ testCode }, events) =>
      parseJsonObject(buildMessage(events, { isTest: testCode !== null })) ?? {},
    send: (connection, events) => sendBatch(options, connection, events),
    sendErasure: (credentials, erasure) =>
      sendMessage(options, credentials, {
        messageId: `msg_${erasure.id}`,
        body: buildErasureMessage(erasure),
      }),
    readDayCounts: async () => NO_REPORT,
    readMatchQuality: async () => NO_REPORT,
    matchKeys: MATCH_KEYS,
    createTestCode: () => `TEST${randomInt(10_000, 100_000)}`,
    createSimulatorDestination,
  }
}

const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'url',
    label: 'Endpoint',
    hint: 'The https address of your receiver, such as https://hooks.example.com/signalbox.',
    isValid: text => parseWebhookTarget({ url: text }) !== null,
  },
]

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'bearer_token',
    label: 'Signing secret',
    hint: 'It starts with whsec_. To rotate it, enter the new and the old one, with a comma.',
  },
]

/**
 * The endpoint may be anything, so nothing tells it to count an event without using it for
 * personalized ads: the strictest rule of the platforms. No consent platform names it.
 */
export const WEBHOOK_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: null,
  isSocialMedia: false,
  tcfPurposes: [1, 3, 4, 7],
  tcfVendorId: null,
  isAdditionalProvider: false,
  personalization: { refusal: 'refuses', tcfPurposes: [] },
}

const NO_REPORT = unsupportedReport(
  'A webhook endpoint has no reports: its own database holds what it received.',
)

/** Reads the stored `config`. Where the name of the host leads is checked with each request. */
export function parseWebhookTarget(config: TargetConfig): WebhookTarget | null {
  if (typeof config.url !== 'string') return null
  const parsed = parseWebhookUrl(config.url)
  return 'url' in parsed ? { url: parsed.url.href } : null
}

async function sendBatch(
  options: WebhookOptions,
  { target, accessToken, testCode }: Connection<WebhookTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const body = buildMessage(events, { isTest: testCode !== null })
  const messageId = identifyMessage(target, body)
  return sendMessage(options, { target, accessToken }, { messageId, body })
}

interface Message {
  messageId: string
  body: string
}

async function sendMessage(
  options: WebhookOptions,
  { target, accessToken }: PlatformCredentials<WebhookTarget>,
  { messageId, body }: Message,
): Promise<SendAnswer> {
  const secrets = readSecrets(accessToken)
  if (secrets === null) return noAnswer('config', 'The signing secret does not start with whsec_.')
  const signature = signWebhook(secrets, { messageId, at: options.now(), body })
  const headers = { ...signature, 'content-type': 'application/json' }
  try {
    const answer = await post(options, { url: target.url, headers, body })
    if (answer === null) return noAnswer('config', NOT_PUBLIC)
    return readAnswer(answer, messageId)
  } catch (error) {
    return classifyTransportError(isTimeout(error) ? TIMEOUT : error)
  }
}

const NOT_PUBLIC = 'The host of the endpoint leads to an address that is not public.'
const TIMEOUT = new DOMException('', 'TimeoutError')

function isTimeout(error: unknown): boolean {
  const { name } = error as { name?: unknown }
  return name === 'AbortError' || name === 'TimeoutError'
}

/** The same batch has the same ID in every attempt; another batch of the same events has not. */
function identifyMessage({ url }: WebhookTarget, body: string): string {
  return `msg_${createHash('sha256').update(`${url}\n${body}`).digest('base64url')}`
}

const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/
/** The old secret signs for as long as it is entered beside the new one. */
const FOREVER = new Date(8.64e15)

/** One secret, or the new and the old one with a comma between; null for other text. */
export function readSecrets(text: string): SigningSecrets | null {
  const [secret = '', previous, ...others] = text.split(',')
  const isValid = [secret, previous ?? secret].every(one => SECRET.test(one))
  if (!isValid || others.length > 0) return null
  const old = previous === undefined ? null : { secret: previous, until: FOREVER }
  return { secret, previous: old }
}

interface EndpointAnswer {
  status: number
  header: (name: string) => string | null
}

interface EndpointRequest {
  url: string
  headers: Record<string, string>
  body: string
}

/** Bodies of answers are not read. Null for an address that is not public. */
async function post(
  { simulatorUrl, timeoutMilliseconds, network }: WebhookOptions,
  { url, headers, body }: EndpointRequest,
): Promise<EndpointAnswer | null> {
  if (simulatorUrl !== null) {
    const response = await fetch(`${simulatorUrl}/webhook/${encodeURIComponent(url)}`, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMilliseconds),
    })
    await response.body?.cancel()
    return { status: response.status, header: name => response.headers.get(name) }
  }
  const length = String(Buffer.byteLength(body))
  const sent = { ...headers, 'content-length': length }
  const answer = await requestPublicHost(
    { method: 'POST', url, headers: sent, body },
    { timeoutMilliseconds, ...network },
  )
  if (answer === null) return null
  return { status: answer.status, header: name => answer.headers[name]?.toString() ?? null }
}

function readAnswer({ status, header }: EndpointAnswer, messageId: string): SendAnswer {
  const outcome = classifyStatus(status)
  const waitSeconds = retryAfterSeconds(header)
  const message = `The endpoint answered HTTP ${status}.`
  return {
    outcome,
    waitSeconds: outcome === 'throttle' ? Math.max(waitSeconds, THROTTLE_SECONDS_MIN) : waitSeconds,
    httpStatus: status,
    traceId: messageId,
    answer: null,
    error: outcome === 'accepted' ? null : toSendError(outcome, { message, http_status: status }),
  }
}

const THROTTLE_SECONDS_MIN = 30

/** Statuses about the endpoint and not about the message: the destination is paused. */
const OUTCOMES: ReadonlyMap<number, SendOutcome> = new Map([
  [401, 'auth'],
  [403, 'config'],
  [404, 'config'],
  [405, 'config'],
  [408, 'retry'],
  [410, 'config'],
  [425, 'retry'],
  [429, 'throttle'],
])

/** Redirects are not followed: they would send events to an address that no one entered. */
function classifyStatus(status: number): SendOutcome {
  const known = OUTCOMES.get(status)
  if (known !== undefined) return known
  if (status >= 200 && status < 300) return 'accepted'
  if (status >= 300 && status < 400) return 'config'
  return status >= 400 && status < 500 ? 'permanent' : 'retry'
}

/** The simulator derives the same secret from the address. */
export function createSimulatorSecret(url: string): string {
  return `whsec_${createHash('sha256').update(`signalbox-simulator ${url}`).digest('base64')}`
}

function createSimulatorDestination() {
  const url = `https://hooks.example.com/${randomUUID()}`
  return { config: { url }, credential: createSimulatorSecret(url) }
}
