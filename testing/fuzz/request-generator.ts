import fc from 'fast-check'
import { toJsonText } from './boundary-values.ts'
import { hostileBytes, mutateBody } from './hostile-bodies.ts'
import {
  type Credential,
  type HeaderLines,
  hostileCredentials,
  hostileHeaders,
  hostileMethods,
} from './hostile-headers.ts'
import { hostileQueries, hostileSegments, OWN_ID_PLACEHOLDERS, pathTricks } from './hostile-urls.ts'
import type { DocumentedParameter, DocumentOperation } from './openapi-operations.ts'
import { EVENT_IDS, REALISTIC_VALUES } from './realistic-values.ts'
import { arbitrarySchemaValue } from './schema-values.ts'

/** A request before its caller is known. */
export interface FuzzRequest {
  /** The operation that it was generated for. It may reach another one. */
  operationId: string
  method: string
  /** With placeholders for IDs (`hostile-urls.ts`). */
  path: string
  query: string
  headers: HeaderLines
  credential: Credential
  /** Whether a forwarder signs it correctly. */
  isSigned: boolean
  /** Null: sent without a body. */
  body: Buffer | null
}

/** The generators of each part of a request. */
type RequestParts = { [Part in keyof FuzzRequest]: fc.Arbitrary<FuzzRequest[Part]> }
type HostileParts = Omit<RequestParts, 'operationId' | 'isSigned'>

/** Any request to an operation. Most have one invalid part, a few only invalid parts. */
export function arbitraryFuzzRequest(operation: DocumentOperation): fc.Arbitrary<FuzzRequest> {
  const calm = validParts(operation)
  const hostile = hostileParts(operation, calm)
  const changes: [weight: number, Partial<RequestParts>][] = [
    [5, {}],
    [operation.body ? 8 : 0, { body: mutatedBodies(operation) }],
    [operation.body ? 4 : 1, { body: hostile.body }],
    [hasIdInPath(operation) ? 3 : 1, { path: hostile.path }],
    [hasQuery(operation) ? 4 : 1, { query: hostile.query }],
    [3, { headers: hostile.headers }],
    [1, { method: hostile.method }],
    [2, { credential: hostile.credential, headers: hostile.headers }],
    [operation.schemes.includes('publishableKey') ? 6 : 0, browserParts(hostile)],
    [1, hostile],
  ]
  return fc.oneof(
    ...changes
      .filter(([weight]) => weight > 0)
      .map(([weight, parts]) => ({ weight, arbitrary: fc.record({ ...calm, ...parts }) })),
  )
}

function validParts(operation: DocumentOperation): RequestParts {
  const { operationId, method, path, parameters } = operation
  const isInPath = ({ in: place }: DocumentedParameter) => place === 'path'
  const ids = fc.record(
    Object.fromEntries(
      parameters.filter(isInPath).map(({ name, schema }) => [name, arbitraryId(name, schema)]),
    ),
  )
  return {
    operationId: fc.constant(operationId),
    method: fc.constant(method),
    path: ids.map(values => path.replaceAll(/\{(\w+)\}/g, (_, name) => String(values[name]))),
    query: validQueries(operation),
    headers: fc.constant(operation.body ? { 'content-type': 'application/json' } : {}),
    credential: fc.constant(CREDENTIAL_OF_SCHEME[operation.schemes[0] ?? 'none'] ?? 'own'),
    isSigned: fc.constant(false),
    body: operation.body ? validBodies(operation).map(toBytes) : fc.constant(null),
  }
}

const CREDENTIAL_OF_SCHEME: Record<string, Credential> = {
  none: 'none',
  sandboxKey: 'sandbox',
  oauthManagement: 'agent',
  executionToken: 'execution',
}

/** IDs in paths are those of the accounts, or generated from the document. */
function arbitraryId(name: string, schema: object): fc.Arbitrary<string> {
  const own = OWN_ID_PLACEHOLDERS[name]
  if (own !== undefined) return fc.constant(own)
  const values = REALISTIC_VALUES[name] ?? arbitrarySchemaValue(schema)
  return values.map(value => encodeURIComponent(String(value).toWellFormed()))
}

/** Adds the key only if it is the credential. */
function validQueries({ parameters }: DocumentOperation): fc.Arbitrary<string> {
  const asked = parameters.filter(({ in: place, name }) => place === 'query' && name !== 'key')
  const requiredKeys = asked.filter(({ required }) => required).map(({ name }) => name)
  const values: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(
    asked.map(({ name, schema }) => [name, REALISTIC_VALUES[name] ?? arbitrarySchemaValue(schema)]),
  )
  return fc.record(values, { requiredKeys }).map(query =>
    Object.entries(query)
      .map(([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`)
      .join('&'),
  )
}

/** An example of the document with some new members, or a body generated from the schema. */
function validBodies({ body, bodyExamples }: DocumentOperation): fc.Arbitrary<unknown> {
  const made = arbitrarySchemaValue(body ?? {}, REALISTIC_VALUES)
  if (bodyExamples.length === 0) return made
  const examples = fc.constantFrom(...bodyExamples)
  const likeExamples = fc
    .tuple(examples, made, fc.nat(), fc.constantFrom(...EVENT_IDS))
    .map(([example, other, choices, eventId]) => {
      if (typeof example !== 'object' || example === null) return example
      const members = Object.entries(example).map(([name, value], at) => {
        const anew = (other as Record<string, unknown> | null)?.[name]
        return [name, anew === undefined || (choices >> at) % 2 === 0 ? value : anew]
      })
      const ids = 'event_id' in example ? { event_id: eventId } : {}
      return { ...Object.fromEntries(members), ...ids }
    })
  return fc.oneof(likeExamples, made)
}

function mutatedBodies(operation: DocumentOperation): fc.Arbitrary<Buffer> {
  return mutateBody(validBodies(operation), operation.body ?? {}).map(toBytes)
}

function hostileParts(operation: DocumentOperation, { path, query }: RequestParts): HostileParts {
  const names = operation.parameters.map(({ name }) => name)
  const texts = operation.body ? validBodies(operation).map(toJsonText) : fc.constant('{"a":"b"}')
  const segments = hostileSegments.map(segment =>
    operation.path.replaceAll(/\{\w+\}/g, () => segment),
  )
  const tricked = fc.tuple(path, pathTricks).map(([written, change]) => change(written))
  return {
    method: hostileMethods,
    path: hasIdInPath(operation) ? fc.oneof(segments, segments, tricked) : tricked,
    query: fc.oneof(
      { weight: 1, arbitrary: query },
      { weight: 4, arbitrary: hostileQueries(names) },
    ),
    headers: hostileHeaders.map(lines => ({ 'content-type': 'application/json', ...lines })),
    credential: hostileCredentials,
    body: hostileBytes(texts),
  }
}

/** The request of a page or a forwarder, with a publishable key. */
function browserParts({ headers }: HostileParts): Partial<RequestParts> {
  const types = ['application/json', 'text/plain;charset=UTF-8']
  const calm = fc
    .constantFrom(...types)
    .map(type => ({ 'content-type': type, origin: 'https://shop.example' }))
  return {
    credential: fc.constantFrom<Credential>('publishable', 'publishable_query'),
    headers: fc.oneof(calm, headers),
    isSigned: fc.boolean(),
  }
}

function hasIdInPath({ path }: DocumentOperation): boolean {
  return path.includes('{')
}

function hasQuery({ parameters }: DocumentOperation): boolean {
  return parameters.some(({ in: place }) => place === 'query')
}

function toBytes(body: unknown): Buffer {
  return Buffer.from(toJsonText(body))
}
