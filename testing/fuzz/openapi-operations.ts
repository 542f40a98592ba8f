import { type Address, document } from '../../contract/assert-documented.ts'
import { BASE_PATH } from '../../contract/operations.ts'

// biome-ignore lint/suspicious/noExplicitAny: schemas are read as any tool would read them
export type Schema = Record<string, any>

export interface DocumentedParameter {
  name: string
  in: string
  required: boolean
  schema: Schema
}

/** An operation as the printed document describes it. */
export interface DocumentOperation {
  operationId: string
  method: string
  /** With the base path, and IDs in braces. */
  path: string
  /** Its JSON pointer in the document; null for a route that is not in the document. */
  address: Address | null
  /** Alternative security schemes by name. Empty: no credential is required. */
  schemes: string[]
  parameters: DocumentedParameter[]
  /** The schema of the JSON body; null if the operation has none. */
  body: Schema | null
  bodyExamples: unknown[]
  statuses: number[]
}

/** Every operation of the document, including future ones. */
export const documentOperations: readonly DocumentOperation[] = Object.entries<Schema>(
  document.paths,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, object]) => toOperation([path, method], object)),
)

function toOperation([path, method]: Address, object: Schema): DocumentOperation {
  const { operationId, parameters = [], requestBody, responses } = object
  const json = requestBody?.content['application/json']
  const security: object[] = object.security ?? document.security
  return {
    operationId,
    method: method.toUpperCase(),
    path: BASE_PATH + path,
    address: [path, method],
    schemes: security.flatMap(Object.keys),
    parameters: parameters.map(resolveReference),
    body: json ? json.schema : null,
    bodyExamples: Object.values<Schema>(json?.examples ?? {}).map(({ value }) => value),
    statuses: Object.keys(responses).map(Number),
  }
}

/** Paths outside the document: the start page, health, and the published documents. */
export function describeUndocumentedRoutes(paths: readonly string[]): DocumentOperation[] {
  return paths.map(path => ({
    operationId: path,
    method: 'GET',
    path,
    address: null,
    schemes: [],
    parameters: [],
    // The start page sends a browser on, and is not there for programs.
    body: null,
    bodyExamples: [],
    statuses: path === '/' ? [303, 404] : [200, 304],
  }))
}

/** The schema, or the target of its $ref. */
export function resolveReference(schema: Schema): Schema {
  if (typeof schema.$ref !== 'string') return schema
  const names = schema.$ref.slice('#/'.length).split('/')
  return resolveReference(names.reduce((node, name) => node[name], document))
}

/** The operations of a path, for every method. */
export interface FoundOperations {
  operations: DocumentOperation[]
  /** Whether the path is spelled as in the document. Otherwise it only decodes to it. */
  isExact: boolean
}

/** The `operations` at a request target; null if there are none. */
export function findOperationsAt(
  target: string,
  operations: readonly DocumentOperation[],
): FoundOperations | null {
  if (!target.startsWith('/') && !URL.canParse(target)) return null
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? ''
  for (const isExact of [true, false]) {
    const segments = path.split('/').map(segment => (isExact ? segment : decoded(segment)))
    const found = operations.filter(operation => matches(operation.path.split('/'), segments))
    if (found.length > 0) return { operations: found, isExact }
  }
  return null
}

/** An empty ID is valid but unknown. */
function matches(template: string[], segments: string[]): boolean {
  if (template.length !== segments.length) return false
  return template.every((part, at) => part.startsWith('{') || part === segments[at])
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
