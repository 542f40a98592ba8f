// biome-ignore lint/suspicious/noExplicitAny: any OpenAPI document
type Json = any

/** A type of the contract, without the words of any language. */
export type Shape =
  | { kind: 'text' | 'integer' | 'number' | 'boolean' | 'any' }
  /** A decimal number that stays text: doubles lose digits. */
  | { kind: 'money' }
  /** A native time, ISO 8601 text or Unix seconds. */
  | { kind: 'time' }
  | { kind: 'constant'; value: string | boolean }
  | { kind: 'enumeration'; values: readonly string[] }
  | { kind: 'map'; of: Shape }
  | { kind: 'list'; of: Shape }
  | { kind: 'named'; name: string }
  | { kind: 'nullable'; of: Shape }
  | { kind: 'union'; of: readonly Shape[] }

export interface Member {
  name: string
  description: string
  shape: Shape
  isRequired: boolean
}

export interface Declaration {
  name: string
  description: string
  /** A part of a request: closed sets are closed, and unknown values are the caller's mistake. */
  isInput: boolean
  /** The whole body of an answer, not only a part of one. */
  isResult: boolean
  /** Null for an object, whose members are below. */
  shape: Shape | null
  members: readonly Member[]
}

/** What the SDKs call: the ten operations, batches and the sandbox. */
const SDK_OPERATIONS = [
  'createEvent',
  'createEvents',
  'verifySignalIngestion',
  'getEvent',
  'listEvents',
  'setDestinationTestMode',
  'sendTestPurchase',
  'replayDeliveries',
  'getReconciliationReport',
  'getEmqReport',
  'deleteUserData',
  'sandboxDiscovery',
  'readSandboxKey',
  'createSandboxKey',
  'validateSandboxEvent',
]

/** Schemas with a form of their own in each language. */
const TIME = 'EventTime'
/** Numbers of the contract that are money. */
const MONEY_MEMBERS = ['value_amount']

/**
 * Walks the contract once and returns the named types that the operations use, in the order of the
 * document, for the printers of all languages. Throws on a form of schema that it does not know, so
 * that nothing is lost without notice.
 */
export function readContractTypes(document: Json, operations = SDK_OPERATIONS): Declaration[] {
  const schemas: Record<string, Json> = document.components.schemas
  const { inputs, outputs } = findBodies(document, operations)
  const inputNames = collectNames(inputs, schemas)
  const outputNames = collectNames(outputs, schemas)
  const resultNames = new Set(outputs.flatMap(({ $ref }) => ($ref ? [nameOf($ref)] : [])))
  const walk = { schemas, place: '' }
  return Object.keys(schemas)
    .filter(name => inputNames.has(name) || outputNames.has(name))
    .filter(name => name !== TIME && !isPlain(schemas[name]))
    .map(name => ({
      ...declare({ ...walk, place: name }, schemas[name]),
      isInput: inputNames.has(name),
      isResult: resultNames.has(name),
    }))
}

interface Walk {
  schemas: Record<string, Json>
  /** The schema that is read, for messages. */
  place: string
}

/** A name for a text or a number says nothing that the name of the member does not say. */
function isPlain({ type, enum: values, const: constant }: Json): boolean {
  const isScalar = ['string', 'integer', 'number', 'boolean'].includes(type)
  return isScalar && values === undefined && constant === undefined
}

function findBodies(document: Json, operations: readonly string[]) {
  const inputs: Json[] = []
  const outputs: Json[] = []
  const found = new Set<string>()
  for (const operation of Object.values<Json>(document.paths).flatMap(Object.values<Json>)) {
    if (!operations.includes(operation.operationId)) continue
    found.add(operation.operationId)
    inputs.push(operation.requestBody?.content['application/json'].schema ?? {})
    for (const [status, { content }] of Object.entries<Json>(operation.responses)) {
      if (status.startsWith('2')) outputs.push(content['application/json'].schema)
    }
  }
  const missing = operations.filter(name => !found.has(name))
  if (missing.length > 0) throw new Error(`The contract has no operation ${missing.join(', ')}.`)
  return { inputs, outputs }
}

function collectNames(roots: readonly Json[], schemas: Record<string, Json>): Set<string> {
  const names = new Set<string>()
  const visit = (node: Json): void => {
    if (typeof node !== 'object' || node === null) return
    if (typeof node.$ref !== 'string') {
      Object.values(node).forEach(visit)
      return
    }
    const name = nameOf(node.$ref)
    if (names.has(name)) return
    names.add(name)
    // The parts of a time have one type in each language.
    if (name !== TIME) visit(schemas[name])
  }
  roots.forEach(visit)
  return names
}

type Declared = Omit<Declaration, 'isInput' | 'isResult'>

function declare(walk: Walk, schema: Json): Declared {
  const { place: name } = walk
  const about = { name, description: schema.description ?? '' }
  if (!schema.properties) return { ...about, shape: readShape(schema, walk), members: [] }
  requireKnown(schema, name, OBJECT_KEYWORDS)
  const required: string[] = schema.required ?? []
  const members = Object.entries<Json>(schema.properties).map(([member, value]) => ({
    name: member,
    description: describe(value),
    shape: MONEY_MEMBERS.includes(member)
      ? readMoney(value)
      : readShape(value, { ...walk, place: `${name}.${member}` }),
    isRequired: required.includes(member),
  }))
  return { ...about, shape: null, members }
}

function describe(schema: Json): string {
  return schema.description ?? schema.anyOf?.find((one: Json) => one.description)?.description ?? ''
}

function readMoney({ type }: Json): Shape {
  return [type].flat().includes('null')
    ? { kind: 'nullable', of: { kind: 'money' } }
    : { kind: 'money' }
}

function readShape(schema: Json, walk: Walk): Shape {
  requireKnown(schema, walk.place, SHAPE_KEYWORDS)
  if (schema.$ref) return readReference(schema.$ref, walk)
  const variants: Json[] | undefined = schema.oneOf ?? schema.anyOf
  if (variants) return readUnion(variants, walk)
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type: string) => type !== 'null')
    if (types.length !== 1) throw new Error(`${walk.place} has several types.`)
    const of = readShape({ ...schema, type: types[0] }, walk)
    return schema.type.includes('null') ? { kind: 'nullable', of } : of
  }
  if (schema.const !== undefined) return { kind: 'constant', value: schema.const }
  // Numbers such as those of a status have no names.
  if (schema.enum && schema.type !== 'integer') {
    return { kind: 'enumeration', values: schema.enum }
  }
  return readType(schema, walk)
}

function readUnion(variants: Json[], walk: Walk): Shape {
  const others = variants.filter(({ type }) => type !== 'null')
  const shapes = others.map(variant => readShape(variant, walk))
  const of: Shape = shapes.length === 1 ? (shapes[0] as Shape) : { kind: 'union', of: shapes }
  return others.length < variants.length ? { kind: 'nullable', of } : of
}

function readReference(reference: string, walk: Walk): Shape {
  const name = nameOf(reference)
  if (name === TIME) return { kind: 'time' }
  const target = walk.schemas[name]
  return isPlain(target) ? readType(target, walk) : { kind: 'named', name }
}

function readType(schema: Json, walk: Walk): Shape {
  switch (schema.type) {
    case 'string':
      return { kind: 'text' }
    case 'integer':
    case 'number':
    case 'boolean':
      return { kind: schema.type }
    case 'array':
      return { kind: 'list', of: readShape(schema.items, walk) }
    case 'object':
      return { kind: 'map', of: readMapValues(schema.additionalProperties, walk) }
    case undefined:
      if (Object.keys(schema).every(keyword => keyword === 'description')) return { kind: 'any' }
  }
  throw new Error(`${walk.place} has a type that the generator does not know.`)
}

function readMapValues(values: Json, walk: Walk): Shape {
  return typeof values === 'object' ? readShape(values, walk) : { kind: 'any' }
}

function nameOf(reference: string): string {
  const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(reference) ?? []
  if (!name) throw new Error(`The reference ${reference} is no named schema.`)
  return name
}

/** Bounds and patterns restrict values, not types; `x-enum-varnames` is for other generators. */
const RESTRICTIONS = `minimum maximum minLength maxLength pattern format minItems maxItems
  minProperties maxProperties propertyNames uniqueItems title description deprecated examples
  x-enum-varnames`
const SHAPE_KEYWORDS = new Set(
  `$ref type const enum oneOf anyOf discriminator items additionalProperties
  ${RESTRICTIONS}`.split(/\s+/),
)
/** `not` names the types that a body without a `type` is not: it is an object, or absent. */
const OBJECT_KEYWORDS = new Set(
  `type properties required additionalProperties not ${RESTRICTIONS}`.split(/\s+/),
)

function requireKnown(schema: Json, place: string, known: ReadonlySet<string>): void {
  const unknown = Object.keys(schema).filter(keyword => !known.has(keyword))
  if (unknown.length > 0) throw new Error(`${place} has the unknown keyword ${unknown.join(', ')}.`)
}
