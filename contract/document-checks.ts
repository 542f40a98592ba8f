import { Ajv2020, type AnySchema, type ErrorObject } from 'ajv/dist/2020.js'

export type Json = Record<string, unknown>

/** Validates a value against the schema at a JSON pointer of an OpenAPI document. */
export type PointerCheck = (pointer: string, value: unknown) => ErrorObject[]

/**
 * Compiles the document for the tests of this folder. The validator is not the one of the service
 * and reads what is printed, so the two can disagree. OpenAPI 3.1 schemas are JSON Schema 2020-12.
 */
export function compileDocument(document: object): PointerCheck {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: true,
    formats: FORMATS,
  })
  ajv.addSchema(document as AnySchema, 'openapi')
  return (pointer, value) => {
    const validate = ajv.getSchema(`openapi#${pointer}`)
    if (!validate) throw new Error(`the document has nothing at ${pointer}`)
    return validate(value) ? [] : (validate.errors ?? [])
  }
}

const FORMATS = {
  double: { type: 'number' as const, validate: Number.isFinite },
  int64: { type: 'number' as const, validate: (id: number) => Number.isSafeInteger(id) },
  date: /^\d{4}-\d{2}-\d{2}$/,
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  uri: (text: string) => URL.canParse(text),
}

/** RFC 6901, then the percent-encoding of a URI fragment. */
export function jsonPointer(...segments: string[]): string {
  return segments
    .map(segment => segment.replaceAll('~', '~0').replaceAll('/', '~1'))
    .map(segment => `/${encodeURIComponent(segment)}`)
    .join('')
}

/**
 * The document with every object schema closed, so that an undeclared member is an error. Clients
 * must accept new members, but our own responses may not contain undeclared ones.
 */
export function closeSchemas<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map(closeSchemas) as Node
  if (typeof node !== 'object' || node === null) return node
  const copy: Json = Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, closeSchemas(value)]),
  )
  const isOpenObject =
    copy.type === 'object' && copy.properties && !('additionalProperties' in copy)
  return (isOpenObject ? { ...copy, additionalProperties: false } : copy) as Node
}

/** Every object in a JSON value that has the member, with the path to it. */
export function findMembers(
  member: string,
  node: unknown,
  path: string[] = [],
): [string[], unknown][] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, value]): [string[], unknown][] => [
    ...(name === member ? [[path, value] as [string[], unknown]] : []),
    ...findMembers(member, value, [...path, name]),
  ])
}
