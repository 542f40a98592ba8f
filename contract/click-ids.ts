/**
 * What an ad platform leaves in a shop's browser: the ID of a click, or that of a browser. One
 * table for all platforms, also those without a plug-in: what is not collected at the click is
 * lost. The tag, the validator, what is kept and what a refusal drops derive from it.
 */
export interface ClickIdSource {
  /** The member of `click_ids`, as the platform spells it, without the underscores of a cookie. */
  name: string
  /** The platform, by the name that consent texts have for it. */
  vendor: string
  form: ClickIdForm
  /** Whether landing URLs have it as a parameter of this name, in any case. */
  isParameter: boolean
  /** The cookie on the shop's own domain. */
  cookie: string | null
}

/**
 * - `fbclid`, `fbc`, `fbp`: Meta's forms.
 * - `opaque`: at most 512 characters that spell neither an email address nor a phone number.
 * - `google_cookie`: a click ID and its time. `visit`: JSON in Base64url, at most 4,000 characters.
 * - `campaign`: at most 100 letters, digits and `_ . ~ -`.
 */
export type ClickIdForm =
  | 'fbclid'
  | 'fbc'
  | 'fbp'
  | 'opaque'
  | 'google_cookie'
  | 'visit'
  | 'campaign'

type Where = Partial<Pick<ClickIdSource, 'form' | 'cookie'>> & { parameter?: boolean }

function source(vendor: string, name: string, where: Where): ClickIdSource {
  const { form = 'opaque', cookie = null, parameter = false } = where
  return { name, vendor, form, cookie, isParameter: parameter }
}

const googleCookie = (name: string, cookie: string) =>
  source('google', name, { form: 'google_cookie', cookie })

/**
 * Bounded on purpose: a session keeps one value of each name, so a rule for a prefix (`gad_*`)
 * would let a page fill it. Google's page names these two; the rest of them stay in the URL.
 */
export const CLICK_ID_SOURCES: readonly ClickIdSource[] = [
  source('meta', 'fbclid', { form: 'fbclid', parameter: true }),
  source('meta', 'fbc', { form: 'fbc', cookie: '_fbc' }),
  source('meta', 'fbp', { form: 'fbp', cookie: '_fbp' }),
  source('google', 'gclid', { parameter: true }),
  source('google', 'gbraid', { parameter: true }),
  source('google', 'wbraid', { parameter: true }),
  source('google', 'gad_source', { form: 'campaign', parameter: true }),
  source('google', 'gad_campaignid', { form: 'campaign', parameter: true }),
  googleCookie('gcl_aw', '_gcl_aw'),
  googleCookie('gcl_ag', '_gcl_ag'),
  googleCookie('gcl_gb', '_gcl_gb'),
  googleCookie('FPGCLAW', 'FPGCLAW'),
  googleCookie('FPGCLAG', 'FPGCLAG'),
  googleCookie('FPGCLGB', 'FPGCLGB'),
  source('google', 'session_attributes', { form: 'visit' }),
  source('google', 'dm_session_attributes', { form: 'visit', cookie: '_dm_session_attributes' }),
  source('tiktok', 'ttclid', { parameter: true, cookie: 'ttclid' }),
  source('tiktok', 'ttp', { cookie: '_ttp' }),
  source('pinterest', 'epik', { parameter: true, cookie: '_epik' }),
  source('snapchat', 'ScCid', { parameter: true }),
  source('snapchat', 'scid', { cookie: '_scid' }),
  source('reddit', 'rdt_cid', { parameter: true, cookie: '_rdt_cid' }),
  source('reddit', 'rdt_uuid', { cookie: '_rdt_uuid' }),
  source('linkedin', 'li_fat_id', { parameter: true, cookie: 'li_fat_id' }),
  source('microsoft', 'msclkid', { parameter: true }),
  source('openai', 'oppref', { parameter: true, cookie: '__oppref' }),
  source('openai', 'obref', { cookie: '__obref' }),
  // Taken from callers; the tag does not collect them.
  source('google', 'dclid', {}),
  source('x', 'twclid', {}),
  source('others', 'yclid', {}),
  source('others', 'irclickid', {}),
]

/** The parameters of landing URLs that the tag and the service read. */
export const CLICK_PARAMETERS: readonly string[] = CLICK_ID_SOURCES.filter(
  ({ isParameter }) => isParameter,
).map(({ name }) => name)

/** The cookies that the tag reads after consent. */
export const CLICK_COOKIES: readonly string[] = CLICK_ID_SOURCES.flatMap(
  ({ cookie }) => cookie ?? [],
)
