import { CURRENCY_PATTERN, DECIMAL_PATTERN } from '@signalbox/contract/decimal.ts'
import type { OutboundEvent, SendError } from '../platform.ts'
import { hasSufficientMatchKeys } from './match-keys.ts'
import { HASHED_FIELD_RULES, PLAIN_FIELD_RULES } from './normalize-identity.ts'

/** Meta: Server Event Parameters, `action_source`. */
const ACTION_SOURCES = [
  'email',
  'website',
  'app',
  'phone_call',
  'chat',
  'physical_store',
  'system_generated',
  'business_messaging',
  'other',
]

/**
 * Why Meta would refuse this event. It is checked before sending, because Meta refuses the whole
 * batch for one bad event. What Meta documents but does not enforce is not required: a website
 * event passes without `client_user_agent` and `event_source_url`. The caller checks the age
 * (`Platform.windowSeconds`), and no event time is in the future (`OutboundEvent.eventTime`).
 */
export function validateMetaEvent(event: OutboundEvent): SendError | null {
  const message = validateServerEvent(event) ?? validateUserData(event) ?? validateCustomData(event)
  if (message === null) return null
  return {
    class: 'local',
    code: null,
    subcode: null,
    message,
    user_title: null,
    user_message: null,
    http_status: null,
  }
}

function validateServerEvent({ eventName, eventTime, actionSource }: OutboundEvent): string | null {
  if (eventName === '') return 'An event needs an event_name.'
  if (Number.isNaN(eventTime.getTime())) return 'The event_time is no time.'
  if (!ACTION_SOURCES.includes(actionSource)) {
    return `The action_source must be one of ${ACTION_SOURCES.join(', ')}.`
  }
  return null
}

/** Meta takes it hashed or not. */
const HASHED_OR_PLAIN_KEY = 'external_id'
const DIGEST = /^[0-9a-f]{64}$/i

/** Meta: Customer Information Parameters. Members that Meta does not know identify no one. */
function validateUserData({ digests, plain }: OutboundEvent): string | null {
  const present: string[] = []
  for (const [key, member] of Object.entries({ ...digests, ...plain })) {
    const values = [member].flat().filter(value => value !== '')
    const isHashed = Object.hasOwn(HASHED_FIELD_RULES, key) && key !== HASHED_OR_PLAIN_KEY
    if (isHashed && !values.every(value => DIGEST.test(value))) {
      return `The user_data.${key} must be a SHA-256 digest.`
    }
    const isKnown = isHashed || key === HASHED_OR_PLAIN_KEY || Object.hasOwn(PLAIN_FIELD_RULES, key)
    if (isKnown && values.length > 0) present.push(key)
  }
  return hasSufficientMatchKeys(present)
    ? null
    : 'The user_data holds too little to match a person: add an e-mail, phone or external_id.'
}

const DECIMAL = new RegExp(DECIMAL_PATTERN)
const CURRENCY = new RegExp(CURRENCY_PATTERN)
const BELOW_ZERO = /^-.*[1-9]/

/** Meta: Standard Parameters. */
function validateCustomData({
  eventName,
  valueAmount,
  valueCurrency,
}: OutboundEvent): string | null {
  const isPurchase = eventName === 'Purchase'
  if (isPurchase && !valueAmount) return 'A Purchase needs value_data.value.'
  if (isPurchase && !valueCurrency) return 'A Purchase needs value_data.currency.'
  if (valueAmount !== null && !DECIMAL.test(valueAmount)) {
    return 'The value_data.value must be a decimal number.'
  }
  if (isPurchase && BELOW_ZERO.test(valueAmount ?? '')) {
    return 'A Purchase cannot have a negative value.'
  }
  if (valueCurrency && !CURRENCY.test(valueCurrency)) {
    return 'The value_data.currency must be three letters.'
  }
  return null
}
