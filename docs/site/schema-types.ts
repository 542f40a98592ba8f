/** A schema of the contract, as far as it uses JSON Schema. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  oneOf?: Schema[]
  anyOf?: Schema[]
  description?: string
}

/** Limits that only say "fits the number type" tell a reader nothing. */
const UNREMARKABLE_MAXIMA = new Set([2 ** 31 - 1, Number.MAX_SAFE_INTEGER])

/** Describes a type in a few words of Markdown, with links to named schemas. */
export function describeType(schema: Schema): string {
  const { $ref, const: constant, oneOf, anyOf, items } = schema
  if ($ref !== undefined) return schemaLink($ref)
  if (constant !== undefined) return `\`${JSON.stringify(constant)}\``
  if (schema.enum) return schema.enum.map(value => `\`${JSON.stringify(value)}\``).join(', ')
  const variants = oneOf ?? anyOf
  if (variants) return variants.map(describeType).join(' or ')
  if (schema.type === 'null') return 'null'
  const names = [schema.type ?? 'any value'].flat().filter(name => name !== 'null')
  const isNullable = Array.isArray(schema.type) && schema.type.includes('null')
  const base = items ? `array of ${describeType(items)}` : names.join(' or ')
  const limits = [schema.format, lengthOf(schema), rangeOf(schema), patternOf(schema)]
  return [base, ...limits.filter(Boolean)].join(', ') + (isNullable ? ' or null' : '')
}

/** The description of a value, which a nullable one has in its variant. */
export function describeValue({ description, anyOf = [] }: Schema): string {
  return description ?? anyOf.find(variant => variant.description)?.description ?? ''
}

export function schemaLink(reference: string): string {
  const name = reference.split('/').at(-1) ?? ''
  return `[${name}](/docs/schemas.md#${name.toLowerCase()})`
}

function lengthOf({ minLength, maxLength, minItems, maxItems }: Schema): string {
  if (maxLength !== undefined) return `${span(minLength, maxLength)} characters`
  if (maxItems !== undefined) return `${span(minItems, maxItems)} items`
  if (minItems !== undefined) return `at least ${minItems}`
  return minLength === undefined ? '' : 'not empty'
}

function rangeOf({ minimum, maximum }: Schema): string {
  if (maximum !== undefined && !UNREMARKABLE_MAXIMA.has(maximum)) return span(minimum, maximum)
  return minimum === undefined ? '' : `at least ${minimum}`
}

function patternOf({ pattern }: Schema): string {
  return pattern === undefined ? '' : `matches \`${pattern}\``
}

function span(least: number | undefined, most: number): string {
  if (least === most) return String(most)
  return least === undefined ? `at most ${most}` : `${least} to ${most}`
}

/** A Markdown table. Cells are texts of one line. */
export function markdownTable(head: string[], rows: string[][]): string {
  const line = (cells: string[]) =>
    `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line), ''].join('\n')
}
