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
  /** With the base path; ids in braces. */
  path: string
  /** Where it stands in the document; null for a route that the document leaves out. */
  address: Address | null
  /** The names of the security schemes, any one of which opens it; empty: nothing is asked. */
  schemes: string[]
  parameters: DocumentedParameter[]
  /** Of the JSON body; null when the operation reads none. */
  body: Schema | null
  bodyExamples: unknown[]
  statuses: number[]
}

/** Every operation of the document: one that is added there is found here without a change. */
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

/** Paths beside the document: health, and what the installation says about itself. */
export function describeUndocumentedRoutes(paths: readonly string[]): DocumentOperation[] {
  return paths.map(path => ({
    ...{ operationId: path, method: 'GET', path, address: null, schemes: [], parameters: [] },
    ...{ body: null, bodyExamples: [], statuses: [200, 304] },
  }))
}

/** The schema itself, or the one that it refers to. */
export function resolveReference(schema: Schema): Schema {
  if (typeof schema.$ref !== 'string') return schema
  const names = schema.$ref.slice('#/'.length).split('/')
  return resolveReference(names.reduce((node, name) => node[name], document))
}

/** The operations at one path, of every method. */
export interface FoundOperations {
  operations: DocumentOperation[]
  /** The path is written as in the document; otherwise it only decodes to it. */
  isExact: boolean
}

/** Those of `operations` that stand at a target as it was sent; null when none does. */
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
