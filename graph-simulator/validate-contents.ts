import { EVENT_SUBCODES, type GraphRefusal, invalidParameter } from './graph-refusal.ts'

/**
 * Looks at the shapes of `custom_data.contents` (a list of objects) and `custom_data.content_ids`
 * (a list of strings or numbers), not at what stands in them. Source: Meta "Standard Parameters".
 */
export function validateContents(customData: unknown): GraphRefusal | undefined {
  // That custom_data is an object is looked at together with the value.
  const { contents, content_ids } = (customData ?? {}) as Record<string, unknown>
  if (!isAbsent(contents) && !isListOf(contents, isObject))
    return malformed('contents', 'The parameter contents must be a list of objects.')
  if (!isAbsent(content_ids) && !isListOf(content_ids, isId))
    return malformed('content_ids', 'The parameter content_ids must list strings or numbers.')
  return undefined
}

function isAbsent(member: unknown): boolean {
  return member === undefined || member === null
}

function isListOf(member: unknown, holds: (item: unknown) => boolean): boolean {
  return Array.isArray(member) && member.every(holds)
}

function isObject(item: unknown): boolean {
  return typeof item === 'object' && item !== null && !Array.isArray(item)
}

function isId(item: unknown): boolean {
  return typeof item === 'string' || typeof item === 'number'
}

function malformed(member: string, message: string): GraphRefusal {
  const blame = ['custom_data', member]
  return invalidParameter(EVENT_SUBCODES.malformed, blame, { title: 'Malformed Contents', message })
}
