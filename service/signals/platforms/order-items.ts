import type { ContentItem } from '../events/order-contents.ts'
import { isDecimal } from './units.ts'

/** An item of an order, in the members that most platforms take. */
export interface OrderItem {
  id: string
  name: string | null
  category: string | null
  brand: string | null
  /** Decimal text. */
  price: string | null
  quantity: number | null
}

/** Items are free-form: shops name the same member in several ways. */
export function readOrderItem(item: ContentItem): OrderItem {
  return {
    id: String(item.id),
    name: readText(item.item_name ?? item.title ?? item.name),
    category: readText(item.item_category ?? item.category),
    brand: readText(item.item_brand ?? item.brand),
    price: readPrice(item.item_price ?? item.price),
    quantity: readQuantity(item.quantity),
  }
}

/** The products of an order: those that the caller lists, else those of its items. */
export function listProductIds({
  commerce,
  contents,
}: {
  commerce: { contentIds: readonly (string | number)[] }
  contents: readonly ContentItem[]
}): string[] {
  const named = commerce.contentIds.length > 0 ? commerce.contentIds : contents.map(({ id }) => id)
  return named.map(String)
}

function readText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function readNumberText(value: unknown): string | null {
  return typeof value === 'number' ? String(value) : readText(value)
}

function readPrice(value: unknown): string | null {
  const text = readNumberText(value)
  return text !== null && isDecimal(text) ? text : null
}

function readQuantity(value: unknown): number | null {
  const text = readNumberText(value) ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}
