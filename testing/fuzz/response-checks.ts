import { check, document } from '../../contract/assert-documented.ts'
import { jsonPointer } from '../../contract/document-checks.ts'
import { BASE_PATH } from '../../contract/operations.ts'
import type { Reply } from '../fixtures/service.ts'
import { type DocumentOperation, findOperationsAt, type Schema } from './openapi-operations.ts'
import { findCanaryTrace } from './realistic-values.ts'
import type { SentRequest } from './request-sender.ts'

export interface CheckedResponse {
  sent: SentRequest
  reply: Reply
  /** The operations of the service, in the document and outside of it. */
  operations: readonly DocumentOperation[]
  secrets: readonly string[]
  /** IDs of other trackers, and of their data. */
  foreignIds: readonly string[]
}

const MESSAGE = jsonPointer('components', 'schemas', 'MessageError')
/** Statuses of an unknown path or method, which reach no operation. */
const ROUTING_REFUSALS = [404, 405]
/** A preflight has no body. An unexpected body is still read. */
const BODY_REFUSALS = [413, 415]
const JSON_TYPE = /^application\/json\b/

/** The operation that a request reached, if any. HEAD is a GET without a body. */
export function findOperation(
  { method, target }: SentRequest,
  operations: readonly DocumentOperation[],
): DocumentOperation | null {
  const meant = method === 'HEAD' ? 'GET' : method
  const found = findOperationsAt(target, operations)?.operations
  return found?.find(operation => operation.method === meant) ?? null
}

/** The faults of a response, in sentences without secrets. Empty if there are none. */
export function findResponseProblems(judged: CheckedResponse): string[] {
  const { reply, foreignIds } = judged
  const isForeign = foreignIds.some(id => reply.text.includes(id))
  return [
    ...checkForm(judged),
    ...checkStatus(judged),
    ...(isForeign ? ['something of another tracker is exposed'] : []),
    ...findLeaks(`${reply.text}\n${formatHeaders(reply)}`, judged.secrets),
  ]
}

function checkForm({ sent, reply, operations }: CheckedResponse): string[] {
  const { status, headers, text, body } = reply
  const { method } = sent
  const isFound = status < 400 && findOperation(sent, operations)?.address === null
  const isBeside = isFound || isPage({ sent, reply })
  const hasNoBody = method === 'HEAD' || status === 204 || status === 304
  const faults: [boolean, string][] = [
    // 502 reports a platform's response; the document lists where it may occur.
    [status < 500 || status === 502, `the service failed with ${status}`],
    [/^req_[0-9a-f]{32}$/.test(headers.get('request-id') ?? ''), 'there is no Request-Id'],
    [headers.get('x-content-type-options') === 'nosniff', 'there is no nosniff'],
    [headers.has('cache-control'), 'there is no Cache-Control'],
    [status !== 405 || headers.has('allow'), '405 comes without Allow'],
    [!hasNoBody || text === '', `${status} of ${method} has a body`],
    [hasNoBody || isBeside || body !== undefined, 'the body is no JSON'],
    [
      hasNoBody || isBeside || JSON_TYPE.test(headers.get('content-type') ?? ''),
      'the type is not JSON',
    ],
  ]
  return faults.filter(([isGood]) => !isGood).map(([, sentence]) => sentence)
}

/** A browser gets pages, also for errors, except from the API. */
function isPage({ sent, reply }: Pick<CheckedResponse, 'sent' | 'reply'>): boolean {
  const isOfApi = sent.target.replace(/^\/{2,}/, '/').startsWith(BASE_PATH)
  return !isOfApi && reply.headers.get('content-type') === 'text/html; charset=utf-8'
}

/** The status is documented for the operation, and the response matches the document. */
function checkStatus({ sent, reply, operations }: CheckedResponse): string[] {
  const { status } = reply
  const operation = findOperation(sent, operations)
  if (isPage({ sent, reply })) return []
  // Routes outside the document have no documented errors.
  const isRefusedUnread = status === 400 && (operation?.address ?? null) === null
  if (operation?.statuses.includes(status) && !isRefusedUnread) {
    return checkSchema(operation, sent, reply)
  }
  if (status === 204 && sent.method === 'OPTIONS') return []
  const refusals =
    sent.method === 'OPTIONS' ? [...ROUTING_REFUSALS, ...BODY_REFUSALS] : ROUTING_REFUSALS
  const isExact = findOperationsAt(sent.target, operations)?.isExact
  const isTurnedAway = refusals.includes(status) && (operation === null || !isExact)
  const name = operation?.operationId ?? 'a path without this method'
  if (!isRefusedUnread && !isTurnedAway) return [`${status} of ${name} is not documented`]
  return sent.method === 'HEAD'
    ? []
    : formatSchemaErrors(check(MESSAGE, reply.body), String(status))
}

/** Headers with `required: false`: a limit may be off, or not checked yet. */
function checkSchema({ address }: DocumentOperation, sent: SentRequest, reply: Reply): string[] {
  if (address === null) return []
  const [path, method] = address
  const status = String(reply.status)
  const { headers }: Schema = document.paths[path][method].responses[status]
  const ofHeaders = Object.keys(headers).flatMap(name => {
    const { required, schema } = document.components.headers[name]
    const text = reply.headers.get(name)
    if (text === null) return required ? [`${status}: ${name} is missing`] : []
    const value = schema.type === 'integer' ? Number(text) : text
    return formatSchemaErrors(
      check(jsonPointer('components', 'headers', name, 'schema'), value),
      name,
    )
  })
  if (sent.method === 'HEAD') return ofHeaders
  const responses = jsonPointer('paths', path, method, 'responses', status)
  const body = jsonPointer('content', 'application/json', 'schema')
  return [...ofHeaders, ...formatSchemaErrors(check(responses + body, reply.body), status)]
}

/** Finds credentials, the canary person's identifiers and data of other trackers. */
export function findLeaks(text: string, secrets: readonly string[]): string[] {
  const trace = findCanaryTrace(text)
  const mark = /sbx_(sk|fwd|wet)_[0-9a-f]{16}/.exec(text)?.[1]
  return [
    ...(trace === null ? [] : [`a raw identifier is exposed: ${trace}`]),
    ...(mark === undefined ? [] : [`a credential of the kind ${mark} is exposed`]),
    ...(secrets.some(secret => text.includes(secret)) ? ['a secret is exposed'] : []),
  ]
}

function formatHeaders({ headers }: Reply): string {
  return [...headers].map(([name, value]) => `${name}: ${value}`).join('\n')
}

function formatSchemaErrors(
  faults: { instancePath: string; message?: string }[],
  where: string,
): string[] {
  return faults.map(({ instancePath, message }) => `${where}: ${instancePath} ${message}`)
}
