import { EVENT_SUBCODES, type GraphError, invalidParameter } from './graph-errors.ts'
import { isMissing, isObject } from './validate-custom-data.ts'

const PROCESSING_COUNTRIES = [0, 1]
const PROCESSING_STATES = [0, ...Array.from({ length: 14 }, (_, index) => 1_000 + index)]
const MESSAGING_CHANNELS = ['messenger', 'whatsapp', 'instagram']
const RELATIONS = ['business', 'business_line', 'product_area', 'medium']
const CUSTOMER_SEGMENTS = [
  ...RELATIONS.map(relation => `new_customer_to_${relation}`),
  ...RELATIONS.map(relation => `existing_customer_to_${relation}`),
  'customer_in_loyalty_program',
]
const EXTINFO_ITEMS = 16

/**
 * Validates the optional members of a server event. Sources: Meta "Server Event Parameters", "Data
 * Processing Options", "App Data Parameters". A missing member and null are both absent.
 */
export function validateEventContext(event: Record<string, unknown>): GraphError | undefined {
  return validateProcessing(event) ?? validateSimpleMembers(event) ?? validateAppData(event)
}

/** A country needs a state, because without one Meta ignores both and locates the person. */
function validateProcessing(event: Record<string, unknown>): GraphError | undefined {
  const {
    data_processing_options: options,
    data_processing_options_country: country,
    data_processing_options_state: state,
  } = event
  if (!isMissing(options) && !(Array.isArray(options) && options.every(one => one === 'LDU')))
    return malformed('data_processing_options', 'may only list LDU')
  if (!isMissing(country) && !PROCESSING_COUNTRIES.includes(country as number))
    return malformed('data_processing_options_country', 'must be 0 or 1')
  if (!isMissing(state) && !PROCESSING_STATES.includes(state as number))
    return malformed('data_processing_options_state', 'must be 0 or the number of a state')
  if (!isMissing(country) && isMissing(state))
    return malformed('data_processing_options_state', 'is required with a country')
  return undefined
}

const isBoolean = (value: unknown) => typeof value === 'boolean'
const isFlag = (value: unknown) => isBoolean(value) || value === 0 || value === 1
const isText = (value: unknown) => typeof value === 'string'

const SIMPLE_MEMBERS: [string, (value: unknown) => boolean, string][] = [
  ['opt_out', isBoolean, 'must be true or false'],
  ['advertiser_tracking_enabled', isFlag, 'must be true or false'],
  ['referrer_url', isText, 'must be a string'],
  ['messaging_channel', isOneOf(MESSAGING_CHANNELS), `is one of ${MESSAGING_CHANNELS.join(', ')}`],
  [
    'customer_segmentation',
    isOneOf(CUSTOMER_SEGMENTS),
    `is one of ${CUSTOMER_SEGMENTS.join(', ')}`,
  ],
  ['original_event_data', isOriginalEvent, 'must be an object with text and a Unix time'],
]

function validateSimpleMembers(event: Record<string, unknown>): GraphError | undefined {
  for (const [name, isValid, rule] of SIMPLE_MEMBERS) {
    if (!isMissing(event[name]) && !isValid(event[name])) return malformed(name, rule)
  }
  return undefined
}

function isOneOf(values: readonly string[]): (value: unknown) => boolean {
  return value => values.includes(value as string)
}

function isOriginalEvent(value: unknown): boolean {
  if (!isObject(value)) return false
  const { event_time, ...texts } = value
  const names = ['event_name', 'order_id', 'event_id']
  return (
    (event_time === undefined || Number.isSafeInteger(event_time)) &&
    names.every(name => texts[name] === undefined || isText(texts[name]))
  )
}

function validateAppData({ app_data }: Record<string, unknown>): GraphError | undefined {
  if (isMissing(app_data)) return undefined
  if (!isObject(app_data)) return malformed('app_data', 'must be an object')
  const { extinfo } = app_data
  if (isMissing(extinfo)) return undefined
  const isComplete =
    Array.isArray(extinfo) && extinfo.length === EXTINFO_ITEMS && extinfo.every(isText)
  const isVersion = Array.isArray(extinfo) && ['a2', 'i2'].includes(extinfo[0])
  return isComplete && isVersion
    ? undefined
    : malformed('app_data', 'needs an extinfo of 16 strings that begins with a2 or i2')
}

function malformed(name: string, rule: string): GraphError {
  return invalidParameter(EVENT_SUBCODES.malformed, [name], {
    title: 'Malformed Event',
    message: `The parameter ${name} ${rule}.`,
  })
}
