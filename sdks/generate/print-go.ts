import type { Declaration, Member, Shape } from './contract-types.ts'
import { wrapText } from './wrap-text.ts'

/**
 * The types as Go. Hand-written types beside them: `Money` (text read from a number), `EventTime`
 * and `Nullable[T]` (a member that can be left out, null or a value).
 */
export function printGo(declarations: readonly Declaration[], digest: string): string {
  const header = `// Code generated from contract ${digest}. DO NOT EDIT.\n\npackage signalbox\n`
  const byName = new Map(declarations.map(one => [one.name, one]))
  return `${header}\n${declarations.map(one => printDeclaration(one, byName)).join('\n')}`
}

type ByName = ReadonlyMap<string, Declaration>

function printDeclaration(declaration: Declaration, byName: ByName): string {
  const { name, description, shape } = declaration
  const comment = printComment(name, description)
  const variants = shape?.kind === 'union' ? findObjects(shape.of, byName) : null
  if (variants) return `${comment}${printStruct(mergeVariants(declaration, variants), byName)}`
  if (shape === null) return `${comment}${printStruct(declaration, byName)}`
  if (shape.kind === 'enumeration') return `${comment}${printEnumeration(name, shape.values)}`
  return `${comment}type ${name} = ${printShape(shape, byName)}\n`
}

/** The declarations of a union of objects. Null when it is another union. */
function findObjects(shapes: readonly Shape[], byName: ByName): Declaration[] | null {
  const found = shapes.map(one => (one.kind === 'named' ? byName.get(one.name) : undefined))
  return found.every(one => one?.shape === null) ? (found as Declaration[]) : null
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

function printStruct({ name, members, isInput }: Declaration, byName: ByName): string {
  const lines = members.map(member => {
    const type = printMemberType(member, { isInput, byName })
    const tag = `\`json:"${member.name}${member.isRequired ? '' : ',omitempty'}"\``
    return { comment: member.description, cells: [exportName(member.name), type, tag] }
  })
  return `type ${name} struct {\n${alignLines(lines)}\n}\n`
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
