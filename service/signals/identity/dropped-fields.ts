/** A value that was dropped: its place and the reason, never the value itself. */
export interface DroppedField {
  /** Dotted path in the submission, such as `user_data.ph` or `user_data.em[1]`. */
  field: string
  reason: string
}

/** A hostile body can have thousands of bad members; a trace needs only the first of them. */
export const DROPPED_FIELDS_MAX = 50

/** Values read of one `user_data` field, and members read of one object. */
export const FIELD_VALUES_MAX = 10
export const MEMBERS_MAX = 100

/** Every reason is one of these fixed sentences, so none can ever carry a value. */
export const DROP_REASONS = {
  empty: 'The value is empty.',
  wrongKind: 'The value is of a kind that this field does not take.',
  unsafeInteger: 'Only whole numbers up to 2^53 survive JSON. Send this one as text.',
  tooLong: 'The value is too long for this field.',
  tooMany: `Only the first ${FIELD_VALUES_MAX} values of a field are read.`,
  tooManyMembers: `Only the first ${MEMBERS_MAX} members are read.`,
  oneOnly: 'This field takes a single value.',
  unknown: 'This field is not known here, so it was not stored.',
  emptyDigest: 'This is the digest of an empty value.',
  otherHash: 'This looks like a hash other than SHA-256. Send the value itself or its SHA-256.',
  foreignDigest:
    'A digest under this name is of another form of the value (with +), which this platform does ' +
    'not match. It was kept to find the person for erasure and withdrawal, and is not sent.',
  digestOfAnotherForm:
    'A platform matches digests of another form of the value. This one is not sent there: send ' +
    'the value itself.',
  digestOnly: 'A field named as hashed takes a SHA-256 digest in hexadecimal.',
  email: 'This is not an email address.',
  phone: 'This is not a whole phone number. Send it with + and its country code, or add a country.',
  name: 'A name needs at least one letter.',
  gender: 'This is no word for a woman or a man. Send f or m.',
  birthDate: 'This is not a single calendar date from 1900 on. Send YYYYMMDD.',
  birthDateInFuture: 'This birth date is in the future.',
  birthDatePart: 'This is not a day, a month or a year of a birth date. Send DD, MM or YYYY.',
  place: 'A place needs at least one letter.',
  postalCode: 'A postal code needs at least two letters or digits.',
  country: 'This is not a country: send its ISO 3166-1 code of two letters.',
  placeholder: 'This is a placeholder, not an identifier.',
  address: 'This is not a public IP address.',
  fbc: 'This does not have the form of a Meta click cookie (fb.1.time.click).',
  clickInFuture: 'This click is later than the event, so it cannot have led to it.',
  clickTooOld: 'This click is more than 90 days older than the event.',
  fbp: 'This does not have the form of a Meta browser cookie (fb.1.time.number).',
  digits: 'This field takes digits only.',
  partner: "There is no such member on Meta's page: partner IDs are agreed with Meta.",
  actionSource: 'It is stored, and sent as other: platforms take only their own words.',
  contentItem: 'It is stored and not sent, because an item is an object with an id.',
  contentItemId: 'It is stored and not sent, because it has no id, item_id, product_id or sku.',
  opaque: 'This field takes letters, digits and . _ : ~ = - only.',
  url: 'This is not an absolute URL.',
  identifier: 'It held an identifier.',
  freeText:
    'The event holds more than 20 email addresses and phone numbers in free text: erasure and ' +
    'withdrawal find it by the first 20.',
  clickId: 'This does not have the form of a click identifier.',
  refusedClick: 'The person refuses the platform that this click identifier is of.',
} as const

/** Reasons of values that are kept, but not used in full. */
export const PARTIAL_REASONS: ReadonlySet<string> = new Set([
  DROP_REASONS.foreignDigest,
  DROP_REASONS.digestOfAnotherForm,
  DROP_REASONS.actionSource,
  DROP_REASONS.contentItem,
  DROP_REASONS.contentItemId,
  DROP_REASONS.freeText,
])

export type DropReason = (typeof DROP_REASONS)[keyof typeof DROP_REASONS]

/** Adds one record, up to the limit of the list. */
export function recordDropped(dropped: DroppedField[], field: string, reason: DropReason): void {
  if (dropped.length < DROPPED_FIELDS_MAX) dropped.push({ field, reason })
}

/**
 * A member's name may itself be an identifier (`{"john@example.com": true}`). Only a name that
 * reads like a field name is repeated; any other becomes `*`.
 */
export function formatMemberPath(parent: string, name: string): string {
  const readable = name.length <= 40 && /^_*[a-z][a-z_]*\d{0,2}$/i.test(name)
  return readable ? `${parent}.${name}` : `${parent}.*`
}
