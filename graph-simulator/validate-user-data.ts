import { EVENT_SUBCODES, type GraphError, invalidParameter } from './graph-errors.ts'

/** Keys of `user_data` that require a SHA-256 digest ("Customer Information Parameters"). */
const HASHED_KEYS = [
  ...['em', 'ph', 'fn', 'ln', 'ge', 'db', 'ct', 'st', 'zp', 'country'],
  ...['fi', 'f5first', 'f5last', 'doby', 'dobm', 'dobd', 'app_user_id'],
]

const PLAIN_KEYS = [
  'external_id',
  'client_ip_address',
  'client_user_agent',
  'fbc',
  'fbp',
  'subscription_id',
  'fb_login_id',
  'lead_id',
  'anon_id',
  'madid',
  'page_id',
  'page_scoped_user_id',
  'ctwa_clid',
  'ig_account_id',
  'ig_sid',
  'whatsapp_business_account_id',
]

/** Customer information with only keys of one of these sets is too broad ("Best Practices"). */
const TOO_BROAD_SETS = [
  ['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent'],
  ['db', 'doby', 'dobm', 'dobd', 'client_user_agent'],
  ['fn', 'fi', 'f5first', 'ge'],
  ['ln', 'f5last', 'ge'],
].map(keys => new Set(keys))

/** 64 hex digits, with the suffix that Meta's own Parameter Builder may append. */
const DIGEST = /^[0-9a-fA-F]{64}(\.([A-Za-z0-9_-]{8}|AQ|Ag|Aw|BA|BQ|Bg))?$/

/** Refuses `user_data` that is missing, not hashed where required, or too broad to match. */
export function validateUserData(userData: unknown): GraphError | undefined {
  if (userData === undefined || userData === null) return insufficient()
  if (typeof userData !== 'object' || Array.isArray(userData)) return malformed(['user_data'])
  const members = userData as Record<string, unknown>

  const present: string[] = []
  for (const key of HASHED_KEYS) {
    const values = listValues(members[key])
    if (!values) return malformed(['user_data', key])
    if (!values.every(isDigest)) return notHashed(key)
    if (values.length > 0) present.push(key)
  }
  for (const key of PLAIN_KEYS) {
    const values = listValues(members[key])
    if (!values) return malformed(['user_data', key])
    if (values.length > 0) present.push(key)
  }
  const tooBroad = TOO_BROAD_SETS.some(set => present.every(key => set.has(key)))
  return tooBroad ? insufficient() : undefined
}

const NO_VALUES: unknown[] = []

/** The non-empty values of a key; undefined unless all are strings or numbers. */
function listValues(member: unknown): unknown[] | undefined {
  if (member === undefined || member === null || member === '') return NO_VALUES
  const values = Array.isArray(member) ? member : [member]
  const nonEmpty = values.filter(value => value !== null && value !== '')
  const allScalar = nonEmpty.every(value => typeof value === 'string' || typeof value === 'number')
  return allScalar ? nonEmpty : undefined
}

function isDigest(value: unknown): boolean {
  return typeof value === 'string' && DIGEST.test(value)
}

function insufficient(): GraphError {
  return invalidParameter(EVENT_SUBCODES.customerInformation, ['user_data'], {
    title: 'Not Enough Customer Information',
    message:
      'This event has no customer information parameters, or a combination that is too broad ' +
      'to match a person.',
  })
}

function notHashed(key: string): GraphError {
  return invalidParameter(EVENT_SUBCODES.notHashed, ['user_data', key], {
    title: 'Customer Information Not Hashed',
    message: `The parameter ${key} must be a SHA-256 digest of 64 hexadecimal characters.`,
  })
}

function malformed(fieldPath: string[]): GraphError {
  return invalidParameter(EVENT_SUBCODES.malformed, fieldPath, {
    title: 'Malformed Customer Information',
    message: `The parameter ${fieldPath.join('.')} has the wrong type.`,
  })
}
