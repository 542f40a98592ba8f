import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { countWrittenMembers, measureShape } from '../util/json-shape.ts'
import { Refusal } from './refusal.ts'
import { FieldErrorList, isStorableText, VALID_TEXT } from './validator.ts'

const DEPTH_MAX = 32

/**
 * Parses a JSON body. Throws a 400 when it is not UTF-8, not JSON, nested too deeply, or names a
 * member twice, and a 422 naming each text that cannot be stored. An empty body is `undefined`,
 * because several operations have an optional one. `isIgnored`: the operation reads no body, so its
 * texts do not matter.
 *
 * A member named `__proto__` is kept like any other: an entry of a map would be lost without a
 * notice. So copy members by spread, `Object.fromEntries` or `defineMember`, never by assignment to
 * a name of the caller.
 *
 * Duplicate names: RFC 8259 lets every parser choose one of the two, so an edge in front of the
 * service could check one value while the service stores the other; I-JSON (RFC 7493, 2.3) forbids
 * them. Counting takes 1.1 µs of the 5 µs for a purchase of 1.2 KB.
 */
export function readJsonBody(bytes: Buffer, { isIgnored = false } = {}): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw new Refusal(400, 'The body is not valid UTF-8.')
  const json = bytes.toString('utf8')
  const body = parseJson(json)
  const shape = measureShape(body, DEPTH_MAX)
  if (shape.level > DEPTH_MAX) {
    throw new Refusal(400, `The body is nested deeper than ${DEPTH_MAX} levels.`)
  }
  if (shape.members !== countWrittenMembers(bytes)) {
    throw new Refusal(400, 'The body has an object that names a member twice.')
  }
  // Neither NUL nor a lone surrogate can be written without an escape.
  if (!isIgnored && json.includes('\\u')) refuseUnstorableText(body)
  return body
}

/** PostgreSQL text cannot hold NUL, and UTF-8 cannot encode a lone surrogate. */
function refuseUnstorableText(body: unknown): void {
  const errors = new FieldErrorList()
  addUnstorableTexts(errors, '', body)
  if (!errors.isEmpty) throw errors.toRefusal()
}

/** A member whose name cannot be stored is reported as `*`. */
function addUnstorableTexts(errors: FieldErrorList, path: string, value: unknown): void {
  if (typeof value === 'string' && !isStorableText(value)) {
    errors.add(path, `The ${path || 'body'} field must be ${VALID_TEXT}.`, 'invalid_text')
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    const isStorable = isStorableText(name)
    const field = `${path === '' ? '' : `${path}.`}${isStorable ? name : '*'}`
    if (!isStorable) errors.add(field, `The ${field} field must be ${VALID_TEXT}.`, 'invalid_text')
    addUnstorableTexts(errors, field, member)
  }
}

export const NOT_JSON = 'The body is not valid JSON.'

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, NOT_JSON)
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Exceptions to how bodies are read. */
    bodyRules: BodyRules | null
    /** The length of the body, once it is read. */
    bodyBytes: number
  }
}

interface BodyRules {
  /** Accepts JSON as text/plain, the only type that a page can send while it unloads. */
  isTextAllowed: boolean
  /**
   * Verifies the exact bytes before they are parsed, or no bytes when there is no body. Throws a
   * Refusal. Null when there is nothing to verify, or after it has run.
   */
  verify: ((bytes: Buffer) => Promise<void>) | null
}

/** Registers the body parsers: JSON only, as text/plain where the request's rules allow it. */
export function registerBodyParsers(app: FastifyInstance): void {
  app.decorateRequest('bodyRules', null)
  app.decorateRequest('bodyBytes', 0)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parseJsonBody)
  app.addContentTypeParser('text/plain', { parseAs: 'buffer' }, parseTextBody)
  app.addContentTypeParser('*', { parseAs: 'buffer' }, refuseBody)
  // Without a content type no parser runs.
  app.addHook('preValidation', (request, _reply, done) => {
    if (!request.bodyRules?.verify) return done()
    verifyBody(request, Buffer.alloc(0)).then(() => done(), done)
  })
}

/**
 * Registers body parsers that leave the bytes to the operation, for the routes of one scope. They
 * verify them as sent, before anything is decompressed.
 */
export function registerByteParsers(scope: FastifyInstance, mediaTypes: readonly string[]): void {
  const options = { parseAs: 'buffer' } as const
  const takeBytes: BodyParser = (request, bytes, done) => {
    request.bodyBytes = bytes.length
    verifyBody(request, bytes).then(() => done(null, bytes), done)
  }
  const refusal = new Refusal(415, `Send the body as ${mediaTypes.join(' or ')}.`)
  const refuse: BodyParser = (_, bytes, done) => done(bytes.length > 0 ? refusal : null)
  const takeText: BodyParser = (request, bytes, done) =>
    (request.bodyRules?.isTextAllowed ? takeBytes : refuse)(request, bytes, done)
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser([...mediaTypes], options, takeBytes)
  scope.addContentTypeParser('text/plain', options, takeText)
  scope.addContentTypeParser('*', options, refuse)
}

type BodyParser = (request: FastifyRequest, bytes: Buffer, done: BodyCallback) => void
type BodyCallback = (error: Error | null, body?: unknown) => void

/** Uses a callback, because a promise per body takes longer than most bodies wait. */
function parseJsonBody(request: FastifyRequest, bytes: Buffer, done: BodyCallback): void {
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding !== 'identity') {
    done(new Refusal(415, 'Send the body without a content coding.'))
    return
  }
  request.bodyBytes = bytes.length
  if (request.bodyRules?.verify) {
    verifyBody(request, bytes).then(() => parseBytes(request, bytes, done), done)
  } else parseBytes(request, bytes, done)
}

/** An operation of the contract that declares responses and no body reads none. */
function parseBytes({ routeOptions }: FastifyRequest, bytes: Buffer, done: BodyCallback): void {
  const { response, body: declared } = routeOptions.schema ?? {}
  const isIgnored = response !== undefined && declared === undefined
  let body: unknown
  try {
    body = readJsonBody(bytes, { isIgnored })
  } catch (error) {
    done(error as Error)
    return
  }
  done(null, body)
}

function parseTextBody(request: FastifyRequest, bytes: Buffer, done: BodyCallback): void {
  if (request.bodyRules?.isTextAllowed) parseJsonBody(request, bytes, done)
  else refuseBody(request, bytes, done)
}

/** An empty body is accepted with any media type. */
function refuseBody(_: FastifyRequest, bytes: Buffer, done: BodyCallback): void {
  done(bytes.length > 0 ? new Refusal(415, 'Send the body as application/json.') : null)
}

/** Verifies the bytes once. */
async function verifyBody({ bodyRules }: FastifyRequest, bytes: Buffer): Promise<void> {
  const verify = bodyRules?.verify
  if (!verify) return
  bodyRules.verify = null
  await verify(bytes)
}
