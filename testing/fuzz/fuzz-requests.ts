import fc from 'fast-check'
import type { DocumentedParameter, DocumentOperation } from './document-operations.ts'
import { hostileBytes } from './hostile-bytes.ts'
import {
  type Credential,
  type HeaderLines,
  hostileCredentials,
  hostileHeaders,
  hostileMethods,
} from './hostile-heads.ts'
import { hostileQueries, hostileSegments, OWN_PLACES, pathTricks } from './hostile-targets.ts'
import { jsonText } from './json-text.ts'
import { EVENT_IDS, MEANINGS } from './meanings.ts'
import { schemaValues } from './schema-values.ts'
import { spoiledBody } from './spoiled-body.ts'

/** A request before it is known who sends it. */
export interface FuzzRequest {
  /** For whom it was made; what it became may be something else. */
  operationId: string
  method: string
  /** With places for ids (`hostile-targets.ts`). */
  path: string
  query: string
  headers: HeaderLines
  credential: Credential
  /** A forwarder signs it, rightly. */
  isSigned: boolean
  /** Null: none is sent. */
  body: Buffer | null
}

/** Where each member of a request comes from. */
type Parts = { [Part in keyof FuzzRequest]: fc.Arbitrary<FuzzRequest[Part]> }
type HostileParts = Omit<Parts, 'operationId' | 'isSigned'>

/** Any request to an operation: most have one part that is wrong, a few have only such parts. */
export function fuzzRequests(operation: DocumentOperation): fc.Arbitrary<FuzzRequest> {
  const calm = calmParts(operation)
  const hostile = hostileParts(operation, calm)
  const changes: [weight: number, Partial<Parts>][] = [
    [5, {}],
    [operation.body ? 8 : 0, { body: spoiledBodies(operation) }],
    [operation.body ? 4 : 1, { body: hostile.body }],
    [hasIdInPath(operation) ? 3 : 1, { path: hostile.path }],
    [hasQuery(operation) ? 4 : 1, { query: hostile.query }],
    [3, { headers: hostile.headers }],
    [1, { method: hostile.method }],
    [2, { credential: hostile.credential, headers: hostile.headers }],
    [operation.schemes.includes('publishableKey') ? 6 : 0, forPages(hostile)],
    [1, hostile],
  ]
  return fc.oneof(
    ...changes
      .filter(([weight]) => weight > 0)
      .map(([weight, parts]) => ({ weight, arbitrary: fc.record({ ...calm, ...parts }) })),
  )
}

function calmParts(operation: DocumentOperation): Parts {
  const { operationId, method, path, parameters } = operation
  const isInPath = ({ in: place }: DocumentedParameter) => place === 'path'
  const ids = fc.record(
    Object.fromEntries(
      parameters.filter(isInPath).map(({ name, schema }) => [name, idsOf(name, schema)]),
    ),
  )
  return {
    operationId: fc.constant(operationId),
    method: fc.constant(method),
    path: ids.map(values => path.replaceAll(/\{(\w+)\}/g, (_, name) => String(values[name]))),
    query: calmQueries(operation),
    headers: fc.constant(operation.body ? { 'content-type': 'application/json' } : {}),
    credential: fc.constant(CREDENTIAL_OF_SCHEME[operation.schemes[0] ?? 'none'] ?? 'own'),
    isSigned: fc.constant(false),
    body: operation.body ? calmBodies(operation).map(bytesOf) : fc.constant(null),
  }
}

const CREDENTIAL_OF_SCHEME: Record<string, Credential> = {
  none: 'none',
  sandboxKey: 'sandbox',
  oauthManagement: 'agent',
  executionToken: 'execution',
}

/** Ids in paths are those of the cast, or they are made as the document says. */
function idsOf(name: string, schema: object): fc.Arbitrary<string> {
  const own = OWN_PLACES[name]
  if (own !== undefined) return fc.constant(own)
  const values = MEANINGS[name] ?? schemaValues(schema)
  return values.map(value => encodeURIComponent(String(value).toWellFormed()))
}

/** The key stands there only where it is the credential. */
function calmQueries({ parameters }: DocumentOperation): fc.Arbitrary<string> {
  const asked = parameters.filter(({ in: place, name }) => place === 'query' && name !== 'key')
  const requiredKeys = asked.filter(({ required }) => required).map(({ name }) => name)
  const values: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(
    asked.map(({ name, schema }) => [name, MEANINGS[name] ?? schemaValues(schema)]),
  )
  return fc.record(values, { requiredKeys }).map(query =>
    Object.entries(query)
      .map(([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`)
      .join('&'),
  )
}

/** The document's own examples with some members anew, or a body of the schema alone. */
function calmBodies({ body, bodyExamples }: DocumentOperation): fc.Arbitrary<unknown> {
  const made = schemaValues(body ?? {}, MEANINGS)
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

function spoiledBodies(operation: DocumentOperation): fc.Arbitrary<Buffer> {
  return spoiledBody(calmBodies(operation), operation.body ?? {}).map(bytesOf)
}

function hostileParts(operation: DocumentOperation, { path, query }: Parts): HostileParts {
  const names = operation.parameters.map(({ name }) => name)
  const texts = operation.body ? calmBodies(operation).map(jsonText) : fc.constant('{"a":"b"}')
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

/** What a page or a forwarder sends, with a key for pages. */
function forPages({ headers }: HostileParts): Partial<Parts> {
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

function bytesOf(body: unknown): Buffer {
  return Buffer.from(jsonText(body))
}
