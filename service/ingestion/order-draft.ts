import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { VALUE_DATA_MEMBERS } from '@signalbox/contract/value-data.ts'
import {
  DROP_REASONS,
  type DroppedField,
  formatMemberPath,
  recordDropped,
} from '../identity/dropped-fields.ts'

export interface OrderDraft {
  orderId: string | null
  /** Decimal text. */
  amount: string | null
  currency: string | null
  /** JSON text of everything that is stored, including the three members above. */
  json: string
}

/**
 * The part of `value_data` that is stored: its known members in the order of the contract, which
 * the compression of the column expects. What else it holds is recorded in `dropped`.
 */
export function draftOrder(
  value: EventSubmission['value_data'],
  dropped: DroppedField[],
): OrderDraft | null {
  if (!value) return null
  for (const name of Object.keys(value)) {
    if (VALUE_DATA_MEMBERS.has(name)) continue
    recordDropped(dropped, formatMemberPath('value_data', name), DROP_REASONS.unknown)
  }
  const currency = value.currency?.toUpperCase()
  const { value: amount, order_id, contents, num_items } = value
  return {
    orderId: order_id ?? null,
    amount: amount ?? null,
    currency: currency ?? null,
    json: JSON.stringify({
      value: amount,
      currency,
      order_id,
      contents,
      num_items,
      content_type: value.content_type,
      content_ids: value.content_ids,
      content_name: value.content_name,
      content_category: value.content_category,
      search_string: value.search_string,
      status: value.status,
      predicted_ltv: value.predicted_ltv,
      net_revenue: value.net_revenue,
      delivery_category: value.delivery_category,
      custom_properties: value.custom_properties,
    }),
  }
}
