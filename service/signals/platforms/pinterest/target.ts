import type { TargetConfig, TargetField } from '../platform.ts'

/** Where Pinterest receives events. */
export interface PinterestTarget {
  adAccountId: string
}

export const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'ad_account_id',
    label: 'Ad account ID',
    hint: 'The digits of the ad account in Pinterest Ads Manager, such as 549757463328.',
  },
]

/** The ID becomes a part of a URL's path. */
const AD_ACCOUNT_ID = /^\d{1,20}$/

/** Reads the stored `config` of a destination: `{"ad_account_id": "..."}`. */
export function parsePinterestTarget({ ad_account_id }: TargetConfig): PinterestTarget | null {
  return typeof ad_account_id === 'string' && AD_ACCOUNT_ID.test(ad_account_id)
    ? { adAccountId: ad_account_id }
    : null
}
