import type { RefusalRule } from '@signalbox/contract/refusal-rules.ts'
import type { ErrorObject } from 'ajv'
import type { Static, TSchema } from 'typebox'
import { isObject, type UntrustedObject } from '../util/is-object.ts'
import { type BrokenRule, type FieldErrors, Refusal } from './refusal.ts'
import {
  compileSchema,
  describeSchemaError,
  describeUnknownMember,
  memberOf,
  type SchemaCheck,
} from './schema-errors.ts'

interface ValidatorOptions<Value> {
  /** Members that are stored or sent as text of one line. */
  textMembers?: readonly (keyof Value & string)[]
  /** Members that are stored as text of any number of lines. */
  multilineMembers?: readonly (keyof Value & string)[]
  /**
   * Members with errors of their own, reported in the order of the schema. An input that is not an
   * object counts as `{}` then, because these errors name members.
   */
  members?: { [Name in keyof Value]?: MemberRule<Exclude<Value[Name], undefined>> }
  /** For queries, where numbers are text: digits become the integer that the schema asks for. */
  coerceTypes?: boolean
  /**
   * For agents: strict converters of tool schemas make a model fill every member, so an optional
   * member that is null counts as absent, at any depth, unless its schema has null.
   */
  nullIsAbsent?: boolean
  /** Errors of the schema that the operation reports in its own words. */
  omits?: (error: ErrorObject) => boolean
}

interface MemberRule<Member> {
  /** Whatever is wrong with it; or by keyword of JSON Schema, null for the usual sentence. */
  error: string | ((keyword: string) => string | null)
  /** Returns what is stored of a member that fits the schema; null when it is invalid. */
  parse?: (member: Member) => Member | null
}

/**
 * Validates what came from outside: a body, a query or the arguments of a tool. Until then it has
 * no type. The schema is compiled once. A missing input and `null` count as `{}`.
 */
export class Validator<Schema extends TSchema> {
  readonly #check: SchemaCheck
  readonly #names: readonly string[]
  readonly #integers: readonly string[]
  readonly #schema: SchemaNode
  readonly #options: ValidatorOptions<Static<Schema>>

  constructor(schema: Schema, options: ValidatorOptions<Static<Schema>> = {}) {
    const { properties = {} } = schema as { properties?: Record<string, { type?: unknown }> }
    this.#check = compileSchema(schema)
    this.#schema = schema
    this.#names = Object.keys(properties)
    this.#integers = options.coerceTypes
      ? this.#names.filter(name => properties[name]?.type === 'integer')
      : []
    this.#options = options
  }

  /** Returns the input once it is valid. Throws a 422 refusal with every invalid field. */
  validate(input: unknown): Static<Schema> {
    return this.begin(input).finish()
  }

  /**
   * Checks the schema for an operation with further rules, which adds their errors and ends with
   * `finish`, so that one response names every invalid field. Throws a 422 refusal at once for
   * anything but an object.
   */
  begin(input: unknown): Validation<Static<Schema>> {
    const { textMembers = [], multilineMembers = [], members } = this.#options
    const errors = new FieldErrorList()
    const value = this.#coerce(input ?? {})
    const given = members
      ? this.#checkMembers(errors, isObject(value) ? value : {})
      : this.#checkObject(errors, value)
    for (const name of textMembers) addTextError(errors, name, given[name])
    for (const name of multilineMembers) {
      addTextError(errors, name, given[name], { isOneLine: false })
    }
    return new Validation(errors, given)
  }

  /** The members that fit the schema, for links to pages: an invalid one does not hide the page. */
  pickValid(input: unknown): Partial<Static<Schema>> {
    const given = this.#coerce(input)
    if (!isObject(given)) return {}
    const invalid = new Set((this.#check(given) ?? []).map(memberOf))
    const valid = this.#names.filter(name => given[name] !== undefined && !invalid.has(name))
    return Object.fromEntries(valid.map(name => [name, given[name]])) as Partial<Static<Schema>>
  }

  #checkObject(errors: FieldErrorList, value: unknown): UntrustedObject {
    const { omits } = this.#options
    for (const error of this.#check(value) ?? []) {
      if (omits?.(error)) continue
      const { field, sentence, rule } = describeSchemaError(error)
      errors.add(field, sentence, rule)
    }
    if (!isObject(value)) throw errors.toRefusal()
    return value
  }

  /** Returns the members as their rules parse them. */
  #checkMembers(errors: FieldErrorList, given: UntrustedObject): UntrustedObject {
    const rules = this.#options.members as Record<string, MemberRule<unknown> | undefined>
    const found = Map.groupBy(this.#check(given) ?? [], memberOf)
    const parsed: Record<string, unknown> = { ...given }
    for (const name of new Set([...this.#names, ...found.keys()])) {
      const { error, parse } = rules[name] ?? {}
      const own = found.get(name) ?? []
      for (const schemaError of own) {
        const usual = describeSchemaError(schemaError)
        const sentence = typeof error === 'function' ? error(schemaError.keyword) : error
        if (sentence) errors.add(name, sentence, usual.rule)
        else errors.add(usual.field, usual.sentence, usual.rule)
      }
      if (own.length > 0 || !parse || given[name] === undefined) continue
      parsed[name] = parse(given[name])
      if (parsed[name] === null) errors.add(name, String(error))
    }
    return parsed
  }

  #coerce(given: unknown): unknown {
    const input = this.#options.nullIsAbsent ? omitNulls(this.#schema, given) : given
    if (this.#integers.length === 0 || !isObject(input)) return input
    const coerced: Record<string, unknown> = { ...input }
    for (const name of this.#integers) {
      const text = coerced[name]
      if (typeof text === 'string' && /^\d+$/.test(text)) coerced[name] = Number(text)
    }
    return coerced
  }
}

/** The part of a JSON Schema that leads to the members inside a value. */
interface SchemaNode {
  type?: unknown
  anyOf?: readonly { type?: unknown }[]
  properties?: Record<string, SchemaNode>
  required?: readonly string[]
  items?: SchemaNode
}

/** A copy of the value without optional members that are null. Keeps what the schema lacks. */
function omitNulls(schema: SchemaNode, value: unknown): unknown {
  const { items, properties, required = [] } = schema
  if (Array.isArray(value)) return items ? value.map(item => omitNulls(items, item)) : value
  if (!isObject(value) || !properties) return value
  const members = Object.entries(value).flatMap(([name, member]) => {
    const child = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (!child) return [[name, member] as const]
    const isAbsent = member === null && !required.includes(name) && !hasNull(child)
    return isAbsent ? [] : [[name, omitNulls(child, member)] as const]
  })
  return Object.fromEntries(members)
}

function hasNull({ type, anyOf = [] }: SchemaNode): boolean {
  return [type].flat().includes('null') || anyOf.some(variant => variant.type === 'null')
}

/** A validation to which an operation may add errors. */
export class Validation<Value> {
  readonly errors: FieldErrorList
  /** Its members may be missing or of any type. */
  readonly input: UntrustedObject

  constructor(errors: FieldErrorList, input: UntrustedObject) {
    this.errors = errors
    this.input = input
  }

  /** Returns the input once it is valid. Throws a 422 refusal with every error. */
  finish(): Value {
    if (!this.errors.isEmpty) throw this.errors.toRefusal()
    return this.input as Value
  }
}

/** A long list of invalid items must not become a response of megabytes. */
const FIELDS_MAX = 1_000

/** Collects sentences by field; a field may have several errors. */
export class FieldErrorList {
  readonly #errors = new Map<string, string[]>()
  readonly #rules: BrokenRule[] = []

  add(field: string, sentence: string, rule: RefusalRule = 'invalid_value'): void {
    const sentences = this.#errors.get(field)
    if (sentences?.includes(sentence)) return
    if (!sentences && this.#errors.size === FIELDS_MAX) return
    if (sentences) sentences.push(sentence)
    else this.#errors.set(field, [sentence])
    this.#rules.push({ field, rule })
  }

  /** For an object whose members no schema names; `path` is the object. */
  addUnknownMember(path: string, name: string): void {
    const { field, sentence, rule } = describeUnknownMember(path, name)
    this.add(field, sentence, rule)
  }

  has(field: string): boolean {
    return this.#errors.has(field)
  }

  get isEmpty(): boolean {
    return this.#errors.size === 0
  }

  toErrors(): FieldErrors {
    return Object.fromEntries(this.#errors)
  }

  /** 422 with every error. */
  toRefusal(): Refusal {
    return Refusal.ofFields(this.toErrors(), this.#rules)
  }
}

export const VALID_TEXT = 'valid Unicode text without NUL'

/** PostgreSQL text cannot hold NUL, and UTF-8 cannot encode a lone surrogate. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

const CONTROL_CHARACTER = /\p{Cc}/u

/**
 * Adds an error for a text that cannot be stored, or of one line with a control character: a
 * terminal or a page that shows it would obey or break.
 */
export function addTextError(
  list: FieldErrorList,
  field: string,
  text: unknown,
  { isOneLine = true }: { isOneLine?: boolean } = {},
): void {
  if (typeof text !== 'string') return
  if (!isStorableText(text)) {
    list.add(field, `The ${field} field must be ${VALID_TEXT}.`, 'invalid_text')
  } else if (isOneLine && CONTROL_CHARACTER.test(text)) {
    const sentence = `The ${field} field must be one line of text without control characters.`
    list.add(field, sentence, 'invalid_text')
  }
}

/**
 * Returns the parameters of a path as text, which the operation parses. Names that the path of the
 * route does not have are a bug.
 */
export function readPathParameters<const Names extends readonly string[]>(
  params: unknown,
  ...names: Names
): Record<Names[number], string> {
  const texts = names.map(name => {
    const text = isObject(params) ? params[name] : undefined
    if (typeof text !== 'string') throw new Error(`the path of this route has no ${name}`)
    return [name, text]
  })
  return Object.fromEntries(texts)
}
