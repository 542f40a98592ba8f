import type { Declaration, Member, Shape } from './contract-types.ts'
import { wrapText } from './wrap-text.ts'

/**
 * The types as Go. Hand-written beside them: `Money` (text read from a number), `EventTime`,
 * `Nullable[T]` (a member that can be left out, null or a value), `Result` (the facts of an answer)
 * and `keepEmpty`.
 */
export function printGo(declarations: readonly Declaration[], digest: string): string {
  const byName = new Map(declarations.map(one => [one.name, one]))
  const variants = new Set(declarations.flatMap(one => findVariants(one, byName)))
  const printed = declarations.filter(one => !variants.has(one))
  const text = printed.map(one => printDeclaration(one, byName)).join('\n')
  const header = `// Code generated from contract ${digest}. DO NOT EDIT.\n\npackage signalbox\n`
  return `${header}${text.includes('json.') ? '\nimport "encoding/json"\n' : ''}\n${text}`
}

type ByName = ReadonlyMap<string, Declaration>

function printDeclaration(declaration: Declaration, byName: ByName): string {
  const { name, description, shape } = declaration
  const comment = printComment(name, description)
  const variants = findVariants(declaration, byName)
  if (variants.length > 0) {
    return `${comment}${printStruct(mergeVariants(declaration, variants), byName)}`
  }
  if (shape === null) return `${comment}${printStruct(declaration, byName)}`
  if (shape.kind === 'enumeration') return `${comment}${printEnumeration(name, shape.values)}`
  return `${comment}type ${name} = ${printShape(shape, byName)}\n`
}

/** The objects of a union of objects. None when it is something else. */
function findVariants({ shape }: Declaration, byName: ByName): Declaration[] {
  if (shape?.kind !== 'union') return []
  const found = shape.of.map(one => (one.kind === 'named' ? byName.get(one.name) : undefined))
  return found.every(one => one?.shape === null) ? (found as Declaration[]) : []
}

/** Go has no unions: one struct has the members of every variant. */
function mergeVariants(declaration: Declaration, variants: readonly Declaration[]): Declaration {
  const members = new Map<string, Member>()
  for (const member of variants.flatMap(one => one.members)) {
    const before = members.get(member.name)
    const isRequired = variants.every(({ members }) =>
      members.some(({ name, isRequired }) => name === member.name && isRequired),
    )
    const isSame = JSON.stringify(before?.shape ?? member.shape) === JSON.stringify(member.shape)
    members.set(member.name, {
      ...member,
      isRequired,
      shape: isSame ? member.shape : { kind: 'text' },
    })
  }
  return { ...declaration, members: [...members.values()] }
}

function printStruct(declaration: Declaration, byName: ByName): string {
  const { name, members, isInput, isResult } = declaration
  const lines = members.map(member => {
    const type = printMemberType(member, { isInput, byName })
    const cells = [exportName(member.name), type, printTag(member)]
    return { comment: member.description, cells }
  })
  const result = isResult ? '\tResult\n' : ''
  const struct = `type ${name} struct {\n${result}${alignLines(lines)}\n}\n`
  return isInput ? `${struct}${printMarshaler(declaration, byName)}` : struct
}

function printTag({ name, isRequired }: Member): string {
  return `\`json:"${name}${isRequired ? '' : ',omitempty'}"\``
}

/** omitempty leaves out an empty list, which can mean something else than no list. */
function printMarshaler({ name, members }: Declaration, byName: ByName): string {
  const lists = members.filter(({ shape, isRequired }) => shape.kind === 'list' && !isRequired)
  if (lists.length === 0) return ''
  const lines = lists.map(member => {
    const cells = [exportName(member.name), `*${printShape(member.shape, byName)}`]
    return { comment: '', cells: [...cells, printTag(member)] }
  })
  const values = lists.map(member => `keepEmpty(v.${exportName(member.name)})`).join(',\n\t\t')
  return `
// MarshalJSON writes a list that is empty, and leaves out one that is nil.
func (v ${name}) MarshalJSON() ([]byte, error) {
\ttype plain ${name}
\treturn json.Marshal(struct {
\t\tplain
${alignLines(lines).replace(/^/gm, '\t')}
\t}{
\t\tplain(v),
\t\t${values},
\t})
}
`
}

interface Place {
  isInput: boolean
  byName: ByName
}

/** Zero of a text or a list means left out; false and 0 are values, so those are pointers. */
function printMemberType({ shape, isRequired }: Member, { isInput, byName }: Place): string {
  if (shape.kind === 'nullable' && isInput && !isRequired) {
    return `*Nullable[${printShape(shape.of, byName)}]`
  }
  if (isRequired || hasEmptyZero(shape, byName)) return printShape(shape, byName)
  return shape.kind === 'nullable' ? printShape(shape, byName) : `*${printShape(shape, byName)}`
}

function hasEmptyZero(shape: Shape, byName: ByName): boolean {
  if (shape.kind === 'named') {
    const target = byName.get(shape.name)?.shape
    return target?.kind === 'enumeration' || (target != null && hasEmptyZero(target, byName))
  }
  return ['text', 'money', 'constant', 'enumeration', 'list', 'map', 'any', 'union'].includes(
    shape.kind === 'constant' && typeof shape.value === 'boolean' ? 'boolean' : shape.kind,
  )
}

function printShape(shape: Shape, byName: ByName): string {
  switch (shape.kind) {
    case 'text':
    case 'enumeration':
      return 'string'
    case 'money':
      return 'Money'
    case 'integer':
      return 'int64'
    case 'number':
      return 'float64'
    case 'boolean':
      return 'bool'
    case 'any':
    case 'union':
      return 'any'
    case 'time':
      return 'EventTime'
    case 'constant':
      return typeof shape.value === 'string' ? 'string' : 'bool'
    case 'map':
      return `map[string]${printShape(shape.of, byName)}`
    case 'list':
      return `[]${printShape(shape.of, byName)}`
    case 'named':
      return shape.name
    case 'nullable':
      return hasNil(shape.of, byName)
        ? printShape(shape.of, byName)
        : `*${printShape(shape.of, byName)}`
  }
}

/** Maps, lists and interfaces have nil; a pointer to them adds nothing. */
function hasNil(shape: Shape, byName: ByName): boolean {
  if (shape.kind === 'named') {
    const target = byName.get(shape.name)?.shape
    return target != null && hasNil(target, byName)
  }
  return ['any', 'union', 'map', 'list'].includes(shape.kind)
}

/** Text with constants: values of a later version are read. */
function printEnumeration(name: string, values: readonly string[]): string {
  const lines = values.map(value => ({
    comment: '',
    cells: [`${name}${exportName(value)}`, name, `= "${value}"`],
  }))
  return `type ${name} string\n\nconst (\n${alignLines(lines)}\n)\n`
}

interface Line {
  comment: string
  cells: readonly string[]
}

/** As gofmt: the cells of lines without a comment between them are in columns. */
function alignLines(lines: readonly Line[]): string {
  const blocks: Line[][] = []
  for (const line of lines) {
    const block = blocks.at(-1)
    if (block && line.comment === '') block.push(line)
    else blocks.push([line])
  }
  return blocks.map(alignBlock).join('\n')
}

function alignBlock(block: readonly Line[]): string {
  const widths = [0, 1].map(at => Math.max(...block.map(({ cells }) => cells[at]?.length ?? 0)))
  const lines = block.map(({ comment, cells }) => {
    const padded = cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' ')
    return `${comment === '' ? '' : commentLines(comment, '\t')}\t${padded}`
  })
  return lines.join('\n')
}

const INITIALISMS = new Set(['id', 'ids', 'url', 'api', 'tcf', 'emq', 'ip'])

function exportName(name: string): string {
  return name
    .split(/[^a-zA-Z0-9]+/)
    .map(word => {
      if (!INITIALISMS.has(word)) return word.charAt(0).toUpperCase() + word.slice(1)
      return word === 'ids' ? 'IDs' : word.toUpperCase()
    })
    .join('')
}

function printComment(name: string, description: string): string {
  if (description === '') return ''
  return commentLines(`${name}: ${description}`, '')
}

function commentLines(text: string, indent: string): string {
  return wrapText(text, 94)
    .map(line => `${indent}// ${line}\n`)
    .join('')
}
