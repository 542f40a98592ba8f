import type { TargetConfig, TargetField } from '../platform.ts'

/** Where Google Ads receives events, and the catalog that their items are of. */
export interface GoogleAdsTarget {
  customerId: string
  /** The manager account whose user the credential is; null when it is the account's own. */
  loginCustomerId: string | null
  /** The Cloud project that user credentials count against; null: that of the credential. */
  quotaProject: string | null
  merchantId: string | null
  feedLabel: string | null
  feedLanguage: string | null
}

const CUSTOMER_ID = /^\d{10}$/
const FORMS = {
  customer_id: CUSTOMER_ID,
  login_customer_id: CUSTOMER_ID,
  quota_project: /^[a-z][a-z0-9-]{4,28}[a-z0-9]$/,
  merchant_id: /^\d{1,20}$/,
  feed_label: /^[A-Z0-9_-]{1,20}$/,
  feed_language: /^[a-z]{2}$/,
}

/** The value as it is sent; undefined for one of another form. */
function readForm(name: keyof typeof FORMS, text: string): string | undefined {
  const bare = FORMS[name] === CUSTOMER_ID ? text.replaceAll('-', '') : text
  return FORMS[name].test(bare) ? bare : undefined
}

const isValid = (name: keyof typeof FORMS) => (text: string) => readForm(name, text) !== undefined

export const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'customer_id',
    label: 'Customer ID',
    hint: 'Ten digits at the top of Google Ads, such as 123-456-7890.',
    isValid: isValid('customer_id'),
  },
  {
    name: 'login_customer_id',
    label: 'Manager account',
    hint: 'Only when the credential belongs to a manager account: its ten digits.',
    optional: true,
    isValid: isValid('login_customer_id'),
  },
  {
    name: 'quota_project',
    label: 'Cloud project',
    hint: 'Only when Google asks for one: the ID of the project whose quota counts.',
    optional: true,
    isValid: isValid('quota_project'),
  },
  {
    name: 'merchant_id',
    label: 'Merchant Center ID',
    hint: 'Only to report items of a cart: the digits of your Merchant Center account.',
    optional: true,
    isValid: isValid('merchant_id'),
  },
  {
    name: 'feed_label',
    label: 'Feed label',
    hint: 'Of the Merchant Center feed with the items, such as US.',
    optional: true,
    isValid: isValid('feed_label'),
  },
  {
    name: 'feed_language',
    label: 'Feed language',
    hint: 'Two letters of ISO 639-1 for the language of that feed, such as en.',
    optional: true,
    isValid: isValid('feed_language'),
  },
]

/** Reads the stored `config` of a destination. Customer IDs may have the hyphens of Google Ads. */
export function parseGoogleAdsTarget(config: TargetConfig): GoogleAdsTarget | null {
  const read = (name: keyof typeof FORMS) => {
    const value = config[name] ?? null
    if (value === null || value === '') return null
    return typeof value === 'string' ? readForm(name, value) : undefined
  }
  const customerId = read('customer_id')
  if (!customerId) return null
  const loginCustomerId = read('login_customer_id')
  const quotaProject = read('quota_project')
  const merchantId = read('merchant_id')
  const feedLabel = read('feed_label')
  const feedLanguage = read('feed_language')
  const others = { loginCustomerId, quotaProject, merchantId, feedLabel, feedLanguage }
  const isValid = Object.values(others).every(value => value !== undefined)
  return isValid ? ({ customerId, ...others } as GoogleAdsTarget) : null
}
