import {
  addError,
  boolean,
  type Check,
  double,
  type Findings,
  int64,
  join,
  list,
  message,
  oneOf,
  optionalText,
  text,
  violationOf,
} from './message-shapes.ts'

/** The event as it passed the checks. Other members are kept, and mean nothing here. */
export interface IngestedEvent {
  transactionId: string
  eventTimestamp: string
  destinationReferences?: string[]
  adIdentifiers?: Record<string, unknown>
  userData?: { userIdentifiers: Record<string, unknown>[] }
  consent?: IngestedConsent
  conversionValue?: { text: string }
  currency?: string
}

export interface IngestedConsent {
  adUserData?: string
  adPersonalization?: string
}

export interface IngestRequest {
  destinations: IngestedDestination[]
  events: IngestedEvent[]
  consent?: IngestedConsent
  validateOnly?: boolean
}

export interface IngestedDestination {
  reference?: string
  operatingAccount: { accountId: string }
  productDestinationId: string
}

export const EVENTS_MAX = 2_000
const DESTINATIONS_MAX = 10
const USER_IDENTIFIERS_MAX = 10
const ELEMENTS_MAX = 1_000

const anyText = text(/^/, 'INVALID_FORMAT')
const texts = list(anyText, { max: ELEMENTS_MAX, reason: 'TOO_MANY_ELEMENTS' })
const reference = text(/^.{1,100}$/s, 'INVALID_FORMAT')

const ACCOUNT = message(
  {
    accountId: text(/^\d{1,20}$/, 'INVALID_DESTINATION'),
    accountType: text(/^GOOGLE_ADS$/, 'DESTINATION_ACCOUNT_TYPE_MISMATCH'),
  },
  ['accountId', 'accountType'],
)

const DESTINATION = message(
  {
    reference,
    loginAccount: ACCOUNT,
    linkedAccount: ACCOUNT,
    operatingAccount: ACCOUNT,
    productDestinationId: text(/^\d{1,20}$/, 'INVALID_CONVERSION_ACTION_ID'),
  },
  ['operatingAccount', 'productDestinationId'],
)

const STATUS = oneOf('CONSENT_GRANTED', 'CONSENT_DENIED')
const CONSENT = message({ adUserData: STATUS, adPersonalization: STATUS })

const DEVICE_INFO = message({ userAgent: anyText, ipAddress: anyText })

const AD_IDENTIFIERS = message({
  sessionAttributes: optionalText(value => /^[\w-]{1,4000}={0,2}$/.test(value), 'INVALID_FORMAT'),
  gclid: anyText,
  gbraid: anyText,
  wbraid: anyText,
  landingPageDeviceInfo: DEVICE_INFO,
  mobileDeviceId: anyText,
})

const ITEM = message({
  merchantProductId: anyText,
  itemId: anyText,
  quantity: int64,
  unitPrice: double,
  conversionValue: double,
})

const CART_DATA = message({
  merchantId: optionalText(value => /^\d{1,20}$/.test(value), 'INVALID_MERCHANT_ID'),
  merchantFeedLabel: anyText,
  merchantFeedLanguageCode: optionalText(
    value => /^[a-z]{2}$/.test(value),
    'INVALID_MERCHANT_FEED_LANGUAGE_CODE',
  ),
  transactionDiscount: double,
  couponCodes: texts,
  items: list(ITEM, { max: ELEMENTS_MAX, reason: 'TOO_MANY_ELEMENTS' }),
})

const USER_PROPERTIES = message({
  customerType: oneOf('NEW', 'RETURNING', 'REENGAGED'),
  customerValueBucket: oneOf('LOW', 'MEDIUM', 'HIGH'),
})

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))
const SOURCES = ['WEB', 'APP', 'IN_STORE', 'PHONE', 'MESSAGE', 'OTHER']

/** Checks the body of a request, whose members this module describes one by one. */
export function validateIngest(body: unknown, now: Date): Findings {
  const found: Findings = { errors: [], warnings: [] }
  const encoding = (body as { encoding?: unknown } | undefined)?.encoding
  ingestShape(encoding, now)(body, '', found)
  if (found.errors.length === 0) checkReferences(body as IngestRequest, found)
  return found
}

function ingestShape(encoding: unknown, now: Date): Check {
  return message(
    {
      destinations: notEmpty(
        list(DESTINATION, { max: DESTINATIONS_MAX, reason: 'TOO_MANY_DESTINATIONS' }),
      ),
      events: notEmpty(
        list(eventShape(encoding, now), { max: EVENTS_MAX, reason: 'TOO_MANY_EVENTS' }),
      ),
      consent: CONSENT,
      validateOnly: boolean,
      encoding: oneOf('HEX', 'BASE64'),
    },
    ['destinations', 'events'],
  )
}

function eventShape(encoding: unknown, now: Date): Check {
  const userData = message(
    {
      userIdentifiers: list(identifierShape(encoding), {
        max: USER_IDENTIFIERS_MAX,
        reason: 'TOO_MANY_USER_IDENTIFIERS',
      }),
    },
    ['userIdentifiers'],
  )
  const shape = message(
    {
      destinationReferences: texts,
      transactionId: text(/^.{1,512}$/s, 'FIELD_VALUE_TOO_LONG'),
      eventTimestamp: eventTime(now),
      lastUpdatedTimestamp: text(RFC_3339, 'INVALID_FORMAT'),
      userData,
      consent: CONSENT,
      adIdentifiers: AD_IDENTIFIERS,
      currency: optionalText(value => CURRENCIES.has(value), 'INVALID_CURRENCY_CODE'),
      conversionValue: double,
      eventSource: oneOf(...SOURCES),
      eventDeviceInfo: DEVICE_INFO,
      cartData: CART_DATA,
      userProperties: USER_PROPERTIES,
    },
    ['eventTimestamp', 'transactionId', 'eventSource'],
  )
  return (value, field, found) => {
    shape(value, field, found)
    checkIdentifiers(value as Partial<IngestedEvent> | null, { encoding, field }, found)
  }
}

const CLICK_IDS = ['gclid', 'gbraid', 'wbraid', 'sessionAttributes', 'mobileDeviceId']

function checkIdentifiers(
  event: Partial<IngestedEvent> | null,
  { encoding, field }: { encoding: unknown; field: string },
  found: Findings,
): void {
  const { userData, adIdentifiers } = event ?? {}
  const hasPerson = (userData?.userIdentifiers?.length ?? 0) > 0
  const hasClick = CLICK_IDS.some(name => Boolean(adIdentifiers?.[name]))
  if (!hasPerson && !hasClick) {
    addError(found, violationOf(field, 'Names no click or person.', 'NO_IDENTIFIERS_PROVIDED'))
  }
  if (hasPerson && encoding === undefined) {
    const reason = 'REQUIRED_FIELD_MISSING'
    addError(found, violationOf('encoding', 'Is required with user data.', reason))
  }
}

function identifierShape(encoding: unknown): Check {
  const digest = digestShape(encoding)
  const shape = message({
    emailAddress: digest,
    phoneNumber: digest,
    address: message(
      {
        givenName: digest,
        familyName: digest,
        regionCode: text(/^[A-Z]{2}$/, 'INVALID_REGION_CODE'),
        postalCode: text(/^\S(?:.{0,20}\S)?$/, 'INVALID_POSTAL_CODE'),
      },
      ['givenName', 'familyName', 'regionCode', 'postalCode'],
    ),
  })
  return (value, field, found) => {
    shape(value, field, found)
    if (Object.keys(value ?? {}).length !== 1) {
      addError(found, violationOf(field, 'Takes exactly one identifier.', 'INVALID_FORMAT'))
    }
  }
}

const HEX = /^[0-9a-fA-F]*$/
const SHA256_BASE64 = /^[\w+/-]{43}=?$/

function digestShape(encoding: unknown): Check {
  if (encoding === 'BASE64') return text(SHA256_BASE64, 'INVALID_SHA256_FORMAT')
  const isHex = text(HEX, 'INVALID_HEX_ENCODING')
  const hasLength = text(/^.{64}$/, 'INVALID_SHA256_FORMAT')
  return (value, field, found) => {
    isHex(value, field, found)
    if (typeof value === 'string' && HEX.test(value)) hasLength(value, field, found)
  }
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/
/** The clock of the sender may be so far ahead. Google documents no tolerance. */
const AHEAD_MILLISECONDS_MAX = 300_000

function eventTime(now: Date): Check {
  const isTimestamp = text(RFC_3339, 'INVALID_FORMAT')
  return (value, field, found) => {
    isTimestamp(value, field, found)
    const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
    if (Number.isNaN(time) || time > now.getTime() + AHEAD_MILLISECONDS_MAX) {
      addError(found, violationOf(field, 'Is no time in the past.', 'EVENT_TIME_INVALID'))
    }
  }
}

function notEmpty(check: Check): Check {
  return (value, field, found) => {
    check(value, field, found)
    if (Array.isArray(value) && value.length === 0) {
      addError(found, violationOf(field, 'Is required.', 'REQUIRED_FIELD_MISSING'))
    }
  }
}

/** References are unique, and events name only those of the request. */
function checkReferences({ destinations, events }: IngestRequest, found: Findings): void {
  const references = new Set<string>()
  for (const [index, { reference }] of destinations.entries()) {
    const field = `destinations[${index}].reference`
    if (reference !== undefined && references.has(reference)) {
      addError(found, violationOf(field, 'Is there twice.', 'DUPLICATE_DESTINATION_REFERENCE'))
    }
    if (reference !== undefined) references.add(reference)
  }
  for (const [index, { destinationReferences = [] }] of events.entries()) {
    if (destinationReferences.every(name => references.has(name))) continue
    const field = join(`events[${index}]`, 'destinationReferences')
    addError(found, violationOf(field, 'Names no destination.', 'INVALID_DESTINATION'))
  }
}
