export interface UetEvent {
  eventType: string
  eventName?: string
  eventId: string
}

/** One thing that is wrong with an event. It repeats the value. */
export interface UetDetail {
  index: number
  propertyName: string
  attemptedValue: unknown
  errorMessage: string
  errorCode: string
  isWarning: boolean
}

interface Place {
  index: number
  at: Date
}

type Check = (value: unknown) => boolean

const isText: Check = value => typeof value === 'string' && value !== '' && value.length <= 100_000
const isDigest: Check = value => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
const isNumber: Check = value => typeof value === 'number'
const isClick: Check = value =>
  /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(String(value))
const isList: Check = value => Array.isArray(value)

const EVENT_CHECKS: Record<string, Check> = {
  eventType: value => value === 'pageLoad' || value === 'custom',
  eventName: isText,
  eventId: isText,
  eventTime: Number.isSafeInteger,
  eventSourceUrl: isText,
  referrerUrl: isText,
  adStorageConsent: value => value === 'G' || value === 'D',
  userData: value => typeof value === 'object' && value !== null,
  customData: value => typeof value === 'object' && value !== null,
}
const USER_CHECKS: Record<string, Check> = {
  em: isDigest,
  ph: isDigest,
  externalId: isText,
  anonymousId: isText,
  msclkid: isClick,
  clientIpAddress: isText,
  clientUserAgent: isText,
}
const CUSTOM_CHECKS: Record<string, Check> = {
  value: isNumber,
  currency: value => typeof value === 'string' && /^[A-Z]{3}$/.test(value),
  transactionId: isText,
  itemIds: isList,
  items: isList,
}
/** One of these is needed. */
const IDENTIFIERS = ['em', 'ph', 'externalId', 'anonymousId', 'msclkid']
const AGE_SECONDS_MAX = 7 * 86_400
const AHEAD_SECONDS_MAX = 300

/** What is wrong with one event. */
export function listEventErrors(event: unknown, { index, at }: Place): UetDetail[] {
  const given = toObject(event)
  const details: UetDetail[] = []
  const add = (propertyName: string, attemptedValue: unknown, errorMessage: string) =>
    details.push({
      index,
      propertyName,
      attemptedValue,
      errorMessage: `${errorMessage}: ${JSON.stringify(attemptedValue)}`,
      errorCode: 'InvalidValue',
      isWarning: false,
    })
  const checkMembers = (value: unknown, checks: Record<string, Check>, path: string) => {
    for (const [name, member] of Object.entries(toObject(value))) {
      const isValid = Object.hasOwn(checks, name) && checks[name]?.(member)
      if (!isValid) add(`${path}${name}`, member, 'The value is not valid')
    }
  }
  checkMembers(given, EVENT_CHECKS, '')
  checkMembers(given.userData, USER_CHECKS, 'userData.')
  checkMembers(given.customData, CUSTOM_CHECKS, 'customData.')
  for (const name of listRequired(given)) {
    if (given[name] === undefined) add(name, null, 'The member is required')
  }
  const user = toObject(given.userData)
  if (!IDENTIFIERS.some(name => Object.hasOwn(user, name))) add('userData', user, 'No identifier')
  const ageSeconds = at.getTime() / 1_000 - Number(given.eventTime)
  if (ageSeconds > AGE_SECONDS_MAX || ageSeconds < -AHEAD_SECONDS_MAX) {
    add('eventTime', given.eventTime, 'The time is out of range')
  }
  return details
}

function listRequired({ eventType }: Record<string, unknown>): string[] {
  const own = eventType === 'pageLoad' ? 'eventSourceUrl' : 'eventName'
  return ['eventType', 'eventId', 'eventTime', own]
}

function toObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
