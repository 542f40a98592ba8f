import { omitNull } from '../../../runtime/util/is-object.ts'
import { DAY_SECONDS } from '../../../runtime/util/time.ts'
import type { FieldRules } from '../../identity/field-rules.ts'
import {
  COMMON_HASHED_RULES,
  COMMON_PLAIN_RULES,
  type PlatformIdentity,
} from '../../identity/normalize-user-data.ts'
import { findDigestError, findHeadError, isRestricted, toLocalError } from '../event-checks.ts'
import type {
  AcceptedIdentity,
  MatchKey,
  OutboundEvent,
  SeenClickIds,
  SendError,
  SubmittedIdentity,
} from '../platform.ts'
import { acceptIdentity, hasDigestOf, joinByName } from '../shared-identity.ts'
import { findValueError, isDecimal, toMoneyText, toUnixMilliseconds } from '../units.ts'

/** Whether the address of the network is sent. */
export type IpAddressForm = 'plain' | 'none'

/** LinkedIn refuses older events. */
export const WINDOW_SECONDS = 90 * DAY_SECONDS

/**
 * Email addresses as at Meta. LinkedIn takes names, companies and IDs of the caller in clear only,
 * and nothing in clear is stored.
 */
export function normalizeLinkedinIdentity(
  submitted: SubmittedIdentity,
  ipAddress: IpAddressForm,
): AcceptedIdentity {
  const rules: FieldRules = {
    hashed: { em: COMMON_HASHED_RULES.em },
    plain: ipAddress === 'plain' ? ADDRESS_RULES : {},
  }
  return acceptIdentity(submitted, rules)
}

const ADDRESS_RULES = { client_ip_address: COMMON_PLAIN_RULES.client_ip_address }

/** The parameter of LinkedIn's links, also in a cookie of its tag. */
const CLICK = 'li_fat_id'

export function joinLinkedinClick(seen: SeenClickIds): Record<string, string> {
  return joinByName(seen, { [CLICK]: CLICK })
}

/** LinkedIn refuses an event without an identifier. */
export function canMatchPerson(
  { digests, plain }: PlatformIdentity,
  clickIds: Record<string, string> = {},
): boolean {
  const hasEmail = hasDigestOf({ digests, plain }, ['em'])
  return hasEmail || Boolean(plain[CLICK] ?? clickIds[CLICK] ?? plain.client_ip_address)
}

/** The identifiers that LinkedIn matches, the strongest first. */
export const MATCH_KEYS: readonly MatchKey[] = [
  {
    key: CLICK,
    from: '`click_ids.li_fat_id`, or the whole address of the page as `event_source`',
    enoughPercent: 10,
  },
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
]

/** The body of a `BATCH_CREATE` at `/rest/conversionEvents`. */
export function linkedinPayload(events: readonly OutboundEvent[]): Record<string, unknown> {
  return { elements: events.map(conversionOf) }
}

function conversionOf(event: OutboundEvent): Record<string, unknown> {
  return omitNull({
    conversion: `urn:lla:llaPartnerConversion:${event.platformName}`,
    conversionHappenedAt: toUnixMilliseconds(event.eventTime),
    conversionValue: readValue(event),
    // Without one LinkedIn counts every copy.
    eventId: event.eventId,
    user: { userIds: userIdsOf(event) },
  })
}

/** LinkedIn takes money as text, and only with its currency. */
function readValue({ valueAmount, valueCurrency }: OutboundEvent): Record<string, unknown> | null {
  if (valueAmount === null || !valueCurrency || !isDecimal(valueAmount)) return null
  return { currencyCode: valueCurrency, amount: toMoneyText(valueAmount) }
}

function userIdsOf({ digests, plain }: OutboundEvent): Record<string, string>[] {
  const ids: [idType: string, values: readonly (string | undefined)[]][] = [
    ['SHA256_EMAIL', digests.em ?? []],
    ['LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID', [plain[CLICK]]],
    ['PLAINTEXT_IP_ADDRESS', [plain.client_ip_address]],
  ]
  return ids.flatMap(([idType, values]) =>
    values.flatMap(idValue => (idValue ? [{ idType, idValue }] : [])),
  )
}

const RULE_ID = /^\d{1,20}$/
/** Why LinkedIn would refuse this event and its whole batch, or must not get it. */
export function validateLinkedinEvent(event: OutboundEvent): SendError | null {
  const message =
    findHeadError(event) ??
    validateRequired(event) ??
    validateUse(event) ??
    findValueError(event.valueAmount, event.valueCurrency)
  return toLocalError(message)
}

function validateRequired(event: OutboundEvent): string | null {
  if (!RULE_ID.test(event.platformName)) return 'The event needs the number of a conversion rule.'
  const digestError = findDigestError(event, ['em'])
  if (digestError !== null) return digestError
  return canMatchPerson(event) ? null : 'The event needs an email address or li_fat_id.'
}

/** LinkedIn has no member that limits the use of an event, so a limited one is not sent. */
function validateUse(event: OutboundEvent): string | null {
  return isRestricted(event)
    ? 'LinkedIn cannot limit the use of an event, and this one is limited: by opt_out, ' +
        'advertiser_tracking_enabled or data_processing_options, or as a test purchase.'
    : null
}
