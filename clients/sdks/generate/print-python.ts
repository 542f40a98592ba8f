import type { Declaration, Member, Shape } from './contract-types.ts'
import { wrapText } from './wrap-text.ts'

const IMPORTS = `from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict, Union

EventTime = Union[datetime, str, int, float]
"""A native time with its zone, ISO 8601 text with an offset, or Unix seconds."""
`

/**
 * The types as Python 3.11: a TypedDict for each object, so that requests are plain dictionaries
 * and answers with unknown or missing members are still read.
 */
export function printPython(declarations: readonly Declaration[], digest: string): string {
  const header = `# Generated from the contract ${digest}. Do not edit.\n# ruff: noqa\n`
  const body = orderDeclarations(declarations).map(printDeclaration).join('\n\n')
  return `${header}${IMPORTS}\n${body}\n`
}

/** Aliases are expressions, so what they name comes first; annotations of classes are not read. */
function orderDeclarations(declarations: readonly Declaration[]): Declaration[] {
  const unions = declarations.filter(({ shape }) => shape !== null)
  return [...declarations.filter(({ shape }) => shape === null), ...unions]
}

function printDeclaration(declaration: Declaration): string {
  const { name, description, shape, members, isInput } = declaration
  if (shape) {
    const doc = description === '' ? '' : `\n${quoteDoc(description)}`
    return `${name} = ${printShape(shape, { isInput, isAlias: true })}${doc}\n`
  }
  if (members.some(({ name }) => KEYWORDS.has(name))) return printFunctional(declaration)
  const doc = description === '' ? [] : [`    ${quoteDoc(description)}`, '']
  const body = members.flatMap(member => printMember(member, isInput))
  const lines = [...doc, ...body]
  return `class ${name}(TypedDict):\n${(lines.length > 0 ? lines : ['    pass']).join('\n')}\n`
}

const KEYWORDS = new Set(
  `and as assert async await break class continue def del elif else except finally for from global
  if import in is lambda nonlocal not or pass raise return try while with yield`.split(/\s+/),
)

/** The other form of a TypedDict, for members that are keywords of Python. */
function printFunctional({ name, members, isInput }: Declaration): string {
  const body = members.map(({ name, shape, isRequired }) => {
    const type = printShape(shape, { isInput, isAlias: true })
    return `        "${name}": ${isRequired ? type : `NotRequired[${type}]`},\n`
  })
  return `${name} = TypedDict(\n    "${name}",\n    {\n${body.join('')}    },\n)\n`
}

function printMember({ name, description, shape, isRequired }: Member, isInput: boolean): string[] {
  const type = printShape(shape, { isInput, isAlias: false })
  const line = `    ${name}: ${isRequired ? type : `NotRequired[${type}]`}`
  return description === '' ? [line] : [line, `    ${quoteDoc(description)}`]
}

function quoteDoc(text: string): string {
  const raw = text.includes('\\') ? 'r' : ''
  const ended = text.endsWith('"') ? `${text} ` : text
  return `${raw}"""${wrapText(ended, 86).join('\n    ')}"""`
}

interface Place {
  isInput: boolean
  /** Evaluated when the module is imported: names below it must be quoted. */
  isAlias: boolean
}

function printShape(shape: Shape, place: Place): string {
  switch (shape.kind) {
    case 'text':
    case 'money':
      return 'str'
    case 'integer':
      return 'int'
    case 'number':
      return 'float'
    case 'boolean':
      return 'bool'
    case 'any':
      return 'Any'
    case 'time':
      return 'EventTime'
    case 'constant':
      return printConstant(shape.value)
    case 'enumeration':
      return printEnumeration(shape.values, place)
    case 'map':
      return `dict[str, ${printShape(shape.of, place)}]`
    case 'list':
      return `list[${printShape(shape.of, place)}]`
    case 'named':
      return place.isAlias ? `"${shape.name}"` : shape.name
    case 'nullable':
      return printUnion([printShape(shape.of, place), 'None'], place)
    case 'union':
      return printUnion(
        shape.of.map(one => printShape(one, place)),
        place,
      )
  }
}

function printConstant(value: string | boolean): string {
  if (typeof value === 'string') return `Literal["${value}"]`
  return `Literal[${value ? 'True' : 'False'}]`
}

/** Python has no open set: an answer may have values of a later version, so it is text. */
function printEnumeration(values: readonly string[], { isInput }: Place): string {
  return isInput ? `Literal[${values.map(value => `"${value}"`).join(', ')}]` : 'str'
}

function printUnion(parts: readonly string[], { isAlias }: Place): string {
  return isAlias ? `Union[${parts.join(', ')}]` : parts.join(' | ')
}
