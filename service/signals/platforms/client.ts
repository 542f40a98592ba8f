import { defineMember } from '../../runtime/util/is-object.ts'
import { type SendAnswer, toSendError } from './send-answer.ts'

/** Null when no request can carry the token. */
export function buildBearerHeaders(accessToken: string): Headers | null {
  return buildTokenHeaders('authorization', `Bearer ${accessToken}`)
}

/** The same for a platform whose token has a header of its own. The error would quote it. */
export function buildTokenHeaders(name: string, value: string): Headers | null {
  try {
    return new Headers({ [name]: value })
  } catch {
    return null
  }
}

/** What a platform answered, before it is read. */
export interface ApiResponse {
  status: number
  /** Without the token, in case the platform repeats it. */
  body: string
  /** How long the headers ask the client to wait, in seconds; 0 without a request. */
  waitSeconds: number
}

interface ApiRequest {
  url: URL
  headers: Headers
  /** The platform is known to answer by the status alone: a body that breaks off is none. */
  isBodyOptional?: boolean
  /** Builds a body of JSON; an error in it is an outcome. Without one, the request is a GET. */
  createBody?: (() => unknown) | undefined
  accessToken: string
  answerBytesMax: number
  timeoutMilliseconds: number
}

/** One request with a token. Never throws: without an answer, the outcome says what is known. */
export async function requestApi({
  url,
  headers,
  isBodyOptional = false,
  createBody,
  accessToken,
  answerBytesMax,
  timeoutMilliseconds,
}: ApiRequest): Promise<(ApiResponse & { headers: Headers }) | SendAnswer> {
  if (createBody) headers.set('content-type', 'application/json')
  try {
    const response = await fetch(url, {
      method: createBody ? 'POST' : 'GET',
      headers,
      ...(createBody && { body: JSON.stringify(createBody()) }),
      // A redirect would send the token to the address that the answer names.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMilliseconds),
    })
    const { text } = await readResponseText(response, answerBytesMax).catch(error => {
      if (isBodyOptional) return { text: '' }
      throw error
    })
    return {
      status: response.status,
      body: redactToken(text, accessToken),
      waitSeconds: retryAfterSeconds(name => response.headers.get(name)),
      headers: response.headers,
    }
  } catch (error) {
    return classifyTransportError(error)
  }
}

interface ResponseText {
  text: string
  /** False when the body is longer than the limit; the text is its beginning then. */
  isComplete: boolean
}

/** Reads the body of an answer up to `bytesMax`: a proxy's page may be anything. */
export async function readResponseText(
  response: Response,
  bytesMax: number,
): Promise<ResponseText> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > bytesMax) break
  }
  return { text: Buffer.concat(chunks).toString('utf8'), isComplete: bytes <= bytesMax }
}

/** Meta repeats a malformed token in its message, and answers are stored and shown. */
export function redactToken(text: string, token: string): string {
  return token === '' ? text : text.replaceAll(token, '[redacted]')
}

/** A shorter run of a secret reveals too little, and occurs in other words. */
const RUN_CHARACTERS = 12
const SECRET_CHARACTERS_MIN = 6
const REDACTED_SECRET = '[redacted]'

/**
 * A copy in which no text holds a run of a secret, plain or in an encoding in which a platform may
 * repeat it: of a URL, of JSON, base64 or hexadecimal. Its first characters alone are a run, too.
 */
export function redactSecrets<Part>(part: Part, secrets: readonly string[]): Part {
  const finders = secrets.flatMap(listEncodings).map(createRunFinder)
  return finders.length === 0 ? part : (redactMember(part, finders) as Part)
}

/** Whether a run of characters is a part of the secret. */
interface RunFinder {
  length: number
  has(run: string): boolean
}

function listEncodings(secret: string): string[] {
  if (secret.length < SECRET_CHARACTERS_MIN) return []
  const found = [secret, encodeURIComponent(secret.toWellFormed())]
  // The secret may stand at any place of what is encoded, such as behind `Bearer `.
  for (const before of ['', ' ', '  ']) {
    const bytes = Buffer.from(`${before}${secret}`)
    for (const encoding of ['base64', 'base64url'] as const) {
      found.push(bytes.toString(encoding).slice(before === '' ? 0 : before.length + 1))
    }
  }
  found.push(Buffer.from(secret).toString('hex'), JSON.stringify(secret).slice(1, -1))
  return [...new Set(found)]
}

/** Few runs are searched; for many, a set is faster. */
const SEARCHED_RUNS_MAX = 50

function createRunFinder(text: string): RunFinder {
  const length = Math.min(RUN_CHARACTERS, text.length)
  let searched = 0
  let runs: Set<string> | null = null
  const has = (run: string) => {
    searched += 1
    if (searched > SEARCHED_RUNS_MAX) runs ??= listRuns(text, length)
    return runs ? runs.has(run) : text.includes(run)
  }
  return { length, has }
}

function listRuns(text: string, length: number): Set<string> {
  const runs = new Set<string>()
  for (let at = 0; at + length <= text.length; at += 1) runs.add(text.slice(at, at + length))
  return runs
}

function redactMember(value: unknown, finders: readonly RunFinder[]): unknown {
  if (typeof value === 'string') return redactRuns(value, finders)
  if (Array.isArray(value)) return value.map(item => redactMember(item, finders))
  if (typeof value !== 'object' || value === null) return value
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return value
  const copy: Record<string, unknown> = Object.create(prototype)
  for (const [name, member] of Object.entries(value)) {
    defineMember(copy, redactRuns(name, finders), redactMember(member, finders))
  }
  return copy
}

function redactRuns(text: string, finders: readonly RunFinder[]): string {
  let redacted = ''
  for (let at = 0; at < text.length; ) {
    const end = findRunEnd(text, at, finders)
    if (end === at) redacted += text[at]
    else if (!redacted.endsWith(REDACTED_SECRET)) redacted += REDACTED_SECRET
    at = Math.max(end, at + 1)
  }
  return redacted
}

/** The end of the run of a secret that begins here; the same place without one. */
function findRunEnd(text: string, start: number, finders: readonly RunFinder[]): number {
  let end = start
  for (const { length, has } of finders) {
    let at = start
    while (at + length <= text.length && has(text.slice(at, at + length))) at += 1
    if (at > start) end = Math.max(end, at + length - 1)
  }
  return end
}

/** A destination is tried again within a day, even when a header asks for more. */
export const WAIT_SECONDS_MAX = 86_400

const SECONDS = /^\d{1,15}$/
/** The three forms of an HTTP date begin with a weekday (RFC 9110 5.6.7). */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*(\d| GMT)$/

/**
 * How long `Retry-After` asks the client to wait, in seconds (RFC 9110 10.2.3); 0 without one, or
 * with one that cannot be read. A proxy may send it where the platform does not document it. A date
 * is compared with the answer's own `Date`, so that clocks need not agree; without a `Date` it is
 * ignored.
 */
export function retryAfterSeconds(header: (name: string) => string | null): number {
  const text = header('retry-after')?.trim() ?? ''
  const seconds = SECONDS.test(text) ? Number(text) : secondsBetween(header('date'), text)
  return Math.min(Math.max(seconds, 0), WAIT_SECONDS_MAX)
}

function secondsBetween(from: string | null, until: string): number {
  const milliseconds = readHttpDate(until) - readHttpDate(from?.trim() ?? '')
  return Number.isNaN(milliseconds) ? 0 : Math.ceil(milliseconds / 1_000)
}

/** NaN when the text is no HTTP date. The oldest of its forms leaves out that it means GMT. */
function readHttpDate(text: string): number {
  if (!HTTP_DATE.test(text)) return Number.NaN
  return Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`)
}

/** System calls before there is a connection. */
const UNCONNECTED_STEPS = new Set(['getaddrinfo', 'connect'])
const UNCONNECTED_CODES = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ERR_TLS_HANDSHAKE_TIMEOUT'])

/** OpenSSL's errors about a certificate, and Node's when it names another host. */
const CERTIFICATE_ERROR =
  /CERT|LEAF_SIGNATURE|HOSTNAME_MISMATCH|^INVALID_(CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$/
/** The TLS handshake failed. Other TLS errors can also come after the request. */
const TLS_PROTOCOL_ERROR =
  /^ERR_SSL_.*(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|PROTOCOL|HANDSHAKE_FAILURE)/

/**
 * Classifies what `fetch` threw. Before there is a trusted connection nothing has been sent, so the
 * batch is retried. After that the platform may have the events, so the outcome is unknown.
 */
export function classifyTransportError(error: unknown): SendAnswer {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return noAnswer('unknown', 'The platform did not answer in time.')
  }
  const { name, code = name ?? 'no reason', syscall = '' } = causeOf(error)
  if (UNCONNECTED_STEPS.has(syscall) || UNCONNECTED_CODES.has(code)) {
    return noAnswer('retry', `The platform could not be reached (${code}).`)
  }
  if (CERTIFICATE_ERROR.test(code) || TLS_PROTOCOL_ERROR.test(code)) {
    return noAnswer('retry', `No secure connection to the platform was possible (${code}).`)
  }
  return noAnswer('unknown', `The connection to the platform broke (${code}).`)
}

interface Cause {
  name?: string
  code?: string | undefined
  syscall?: string
  /** One for each address that was tried. */
  errors?: Cause[]
}

function causeOf(error: unknown): Cause {
  const { cause = error as Cause } = error as { cause?: Cause }
  return cause.errors?.[0] ?? cause
}

/** No answer came back, whether or not the request went out. */
export function noAnswer(outcome: 'retry' | 'config' | 'unknown', message: string): SendAnswer {
  return {
    outcome,
    waitSeconds: 0,
    httpStatus: null,
    traceId: null,
    answer: null,
    error: toSendError(outcome, { message }),
  }
}
