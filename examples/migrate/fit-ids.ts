/** A value that is kept, perhaps shorter, and what was wrong with it. */
export interface Fit {
  /** Undefined when nothing is kept. */
  value?: unknown
  reason?: string
}

/** An ID that tells events or visitors apart. One that many could have would join them. */
export function fitId(value: unknown): Fit {
  if (value === null || value === undefined) return {}
  if (hasControlCharacters(value)) return { reason: 'This is not one line of text.' }
  const id = Number.isSafeInteger(value) ? String(value) : value
  if (typeof id !== 'string') return { reason: 'This is no text.' }
  return isPlaceholder(id) ? { reason: 'This is a placeholder and no ID.' } : { value: id }
}

function isPlaceholder(text: string): boolean {
  return /^(|0|null|undefined|none|nan|\[object object\]|\(not set\)|\{\{.*\}\})$/i.test(
    text.replace(/\p{Cf}/gu, '').trim(),
  )
}

/**
 * The ID of a product as text. Undefined when there is none: null, the number 0 and empty text,
 * which shops give to a line that is no product, must not become a product of that name.
 */
export function toProductId(...candidates: unknown[]): string | undefined {
  const id = candidates.find(isProductId)
  return id === undefined ? undefined : String(id).trim()
}

function isProductId(id: unknown): boolean {
  if (typeof id === 'number') return Number.isSafeInteger(id) && id !== 0
  return typeof id === 'string' && !isPlaceholder(id)
}

/** NaN when a quantity is no number: then the count is unknown. */
export function countItems(items: readonly Record<string, unknown>[]): number {
  return items.reduce((count, { quantity }) => count + toQuantity(quantity ?? 1), 0)
}

function toQuantity(quantity: unknown): number {
  if (typeof quantity === 'number') return quantity
  const isNumber = typeof quantity === 'string' && /^\d{1,9}(\.\d{1,6})?$/.test(quantity)
  return isNumber ? Number(quantity) : Number.NaN
}

const CONTROL_CHARACTERS = /\p{Cc}+/gu

export function hasControlCharacters(value: unknown): value is string {
  return typeof value === 'string' && value.search(CONTROL_CHARACTERS) >= 0
}

export function toOneLine(value: unknown): unknown {
  return hasControlCharacters(value) ? value.replaceAll(CONTROL_CHARACTERS, ' ') : value
}
