import type { Declaration, Member, Shape } from './contract-types.ts'
import { wrapText } from './wrap-text.ts'

/** The types as TypeScript. */
export function printTypeScript(declarations: readonly Declaration[], digest: string): string {
  const header = `// Generated from the contract ${digest}. Do not edit.\n`
  const time = '/** A native time, ISO 8601 text with an offset, or Unix seconds. */\n'
  const first = `${header}\n${time}export type EventTime = Date | string | number\n`
  return `${first}\n${declarations.map(printDeclaration).join('\n\n')}\n`
}

function printDeclaration(declaration: Declaration): string {
  const { name, description, shape, members, isInput } = declaration
  const comment = printComment(description, '')
  if (shape) return `${comment}export type ${name} = ${printShape(shape, isInput)}`
  const body = members.map(member => printMember(member, isInput)).join('\n')
  return `${comment}export interface ${name} {\n${body}\n}`
}

function printMember({ name, description, shape, isRequired }: Member, isInput: boolean): string {
  const comment = printComment(description, '  ')
  // A caller passes what may be missing without a condition.
  const missing = isInput && !isRequired ? ' | undefined' : ''
  return `${comment}  ${name}${isRequired ? '' : '?'}: ${printShape(shape, isInput)}${missing}`
}

function printComment(description: string, indent: string): string {
  if (description === '') return ''
  const text = description.replaceAll('*/', '* /')
  if (indent.length + text.length <= 92) return `${indent}/** ${text} */\n`
  const lines = wrapText(text, 96 - indent.length).map(line => `${indent} * ${line}\n`)
  return `${indent}/**\n${lines.join('')}${indent} */\n`
}

function printShape(shape: Shape, isInput: boolean): string {
  switch (shape.kind) {
    case 'text':
    case 'money':
      return 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'any':
      return 'unknown'
    case 'time':
      return 'EventTime'
    case 'constant':
      return typeof shape.value === 'string' ? `'${shape.value}'` : String(shape.value)
    case 'enumeration':
      return printEnumeration(shape.values, isInput)
    case 'map':
      return `Record<string, ${printShape(shape.of, isInput)}>`
    case 'list':
      return `${printInner(shape.of, isInput)}[]`
    case 'named':
      return shape.name
    case 'nullable':
      return `${printShape(shape.of, isInput)} | null`
    case 'union':
      return shape.of.map(one => printShape(one, isInput)).join(' | ')
  }
}

/** A service of a later version may answer with more values, and editors still suggest these. */
function printEnumeration(values: readonly string[], isInput: boolean): string {
  const known = values.map(value => `'${value}'`).join(' | ')
  return isInput ? known : `${known} | (string & {})`
}

function printInner(shape: Shape, isInput: boolean): string {
  const text = printShape(shape, isInput)
  return text.includes(' | ') ? `(${text})` : text
}
