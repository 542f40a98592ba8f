import { isFreeFormObject } from './free-form-object.ts'
import { foldMemberName } from './member-name.ts'

/**
 * The members of `consent` that speak about advertising, folded (`ad_user_data` = `adUserData`).
 * Members of opposite polarity (`do_not_sell`, `sale_of_data`, `ads_opt_out`, `us_privacy`) are
 * left out: a "yes" there is a refusal in one product and a permission in the next. Purposes
 * beside advertising (analytics, functional, email, sms, content) never matter.
 */
const ADVERTISING_MEMBERS: ReadonlySet<string> = new Set([
  ...['adstorage', 'aduserdata', 'adpersonalization', 'adpersonalisation'],
  ...['ad', 'ads', 'adconsent', 'adsconsent', 'adtargeting', 'adtracking', 'adcookies'],
  ...['adspersonalization', 'adspersonalisation', 'personalizedads', 'personalisedads'],
  ...['advertising', 'advertisingconsent', 'advertisingstorage', 'advertisingcookies'],
  ...['advertisement', 'advertisements', 'targetedadvertising', 'personalizedadvertising'],
  ...['marketing', 'marketingconsent', 'marketingstorage', 'marketingcookies'],
  ...['targeting', 'targetingconsent', 'targetingcookies', 'retargeting', 'remarketing'],
])

/**
 * Members that speak of consent as a whole. A refusal of everything refuses advertising too; a
 * "yes" to something unnamed does not name advertising, so these can only deny.
 */
const WHOLE_MEMBERS: ReadonlySet<string> = new Set([
  ...['granted', 'given', 'consented', 'consent', 'status'],
])

/** Members that banners nest their purposes in, such as Segment's `categoryPreferences`. */
const PURPOSE_CONTAINERS: ReadonlySet<string> = new Set([
  ...['categories', 'categorypreferences', 'purposes', 'preferences', 'choices'],
])

export type MemberKind = 'advertising' | 'whole' | 'container' | 'other'

/** What a member of the `consent` object is about, by its name and the shape of its value. */
export function memberKind(name: string, value: unknown): MemberKind {
  const folded = foldMemberName(name)
  if (ADVERTISING_MEMBERS.has(folded)) return 'advertising'
  if (WHOLE_MEMBERS.has(folded)) return 'whole'
  return PURPOSE_CONTAINERS.has(folded) && isFreeFormObject(value) ? 'container' : 'other'
}
