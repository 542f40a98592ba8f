import { isObject } from '../../runtime/util/is-object.ts'
import { DROP_REASONS, type DropReason } from '../identity/dropped-fields.ts'
import { isUnfilledIdDigest } from '../identity/field-rules.ts'
import {
  isUnfilledId,
  normalizeText,
  parseSuppliedDigest,
  removeInvisible,
} from '../identity/identifier-formats.ts'

/** An item of an order that a platform can match with a catalog. */
export type ContentItem = Record<string, unknown> & { id: string | number }

/** The names under which shops send the ID of an item; the first that has one counts. */
const ID_NAMES = ['id', 'item_id', 'product_id', 'sku'] as const

/**
 * An item as it is sent: with its ID as `id`. Why it is not sent, if it is no object or has no ID.
 * Items are stored as the caller sent them.
 */
export function readContentItem(item: unknown): ContentItem | { reason: DropReason } {
  const found = findItemId(item)
  if ('reason' in found) return found
  const { name, id, members } = found
  const others = Object.entries(members).filter(([other]) => other !== name && other !== 'id')
  return { id, ...Object.fromEntries(others) }
}

/** Why an item is not sent; null for one that is. */
export function findUnsentReason(item: unknown): DropReason | null {
  const found = findItemId(item)
  return 'reason' in found ? found.reason : null
}

interface FoundId {
  name: string
  id: string | number
  members: Record<string, unknown>
}

function findItemId(item: unknown): FoundId | { reason: DropReason } {
  if (!isObject(item)) return { reason: DROP_REASONS.contentItem }
  for (const name of ID_NAMES) {
    const id = readContentId(item[name])
    if (id !== null) return { name, id, members: item }
  }
  return { reason: DROP_REASONS.contentItemId }
}

export function isContentItem(read: ReturnType<typeof readContentItem>): read is ContentItem {
  return Object.hasOwn(read, 'id')
}

/** The ID of a product or of a group; null for blank text and placeholders. */
export function readContentId(id: unknown): string | number | null {
  return typeof id === 'number' ? id : readIdText(id)
}

/** The ID of an order or a product as text; null for blank text and placeholders. */
export function readIdText(id: unknown): string | null {
  if (typeof id !== 'string') return null
  const visible = removeInvisible(id)
  const prepared = normalizeText(visible)
  const digest = parseSuppliedDigest(visible)
  const isUnfilled = digest === null ? isUnfilledId(prepared) : isUnfilledIdDigest(digest)
  return prepared === '' || isUnfilled ? null : visible
}

/** `content_ids` as a list: one ID, or the text of a list, as the Pixel takes it. */
export function listContentIds(ids: unknown): unknown[] {
  if (Array.isArray(ids)) return ids
  if (typeof ids !== 'string' || !/^\s*\[.*\]\s*$/s.test(ids)) return ids === undefined ? [] : [ids]
  const parsed = parseList(ids)
  return parsed ?? [ids]
}

function parseList(text: string): unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(text)
    const isIdList =
      Array.isArray(parsed) && parsed.every(one => ['string', 'number'].includes(typeof one))
    return isIdList ? parsed : null
  } catch {
    return null
  }
}
