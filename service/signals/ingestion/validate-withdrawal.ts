import type { FieldErrorList } from '../../runtime/http/validator.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import {
  IDENTIFYING_KEYS,
  listWithdrawableDigests,
  resolveVisitorId,
} from '../events/person-identifiers.ts'
import { computeLookupDigests } from '../identity/lookup-digests.ts'
import { findIdentityMember, findUserDataKey } from '../identity/user-data-keys.ts'
import type { Platforms } from './event-draft.ts'

/**
 * Adds the errors of a `consent_withdrawal`. It must name a person, because a withdrawal that
 * reaches no one would be accepted without any effect. On legitimate interest it may name them by
 * email address, phone number and external ID, which no other event on that basis may carry.
 */
export function addWithdrawalErrors(
  errors: FieldErrorList,
  body: UntrustedObject,
  platforms: Pick<Platforms, 'default'>,
): void {
  const userData = isObject(body.user_data) ? body.user_data : {}
  const isOnInterest = body.consent_basis === 'legitimate_interest'
  if (isOnInterest && findIdentityMember(userData, IDENTIFYING_KEYS) !== null) {
    errors.add(
      'user_data',
      'The user_data field of a consent_withdrawal on legitimate interest may carry only em, ph ' +
        'and external_id.',
      'identity_without_consent',
    )
  }
  const visitorId = typeof body.visitor_id === 'string' ? resolveVisitorId(body.visitor_id) : null
  if (visitorId === null) addUnnamedPersonErrors(errors, userData, platforms)
}

function addUnnamedPersonErrors(
  errors: FieldErrorList,
  userData: UntrustedObject,
  platforms: Pick<Platforms, 'default'>,
): void {
  const times = { observedAt: new Date(0), eventTime: new Date(0) }
  const lookup = computeLookupDigests(userData, times)
  if (listWithdrawableDigests({ visitorId: null, digests: {}, lookup }).length > 0) return
  const submitted = { userData, clickIds: {}, eventSource: undefined, ...times }
  const { dropped } = platforms.default.normalizeIdentity(submitted)
  errors.add(
    'visitor_id',
    'The visitor_id field must name the visitor who withdraws consent, unless user_data.em, ' +
      'user_data.ph or user_data.external_id does. Placeholders name no one.',
    'withdrawal_names_no_one',
  )
  for (const { field, reason } of dropped) {
    if (!isWithdrawalField(field)) continue
    errors.add(field, `The ${field} field names no one. ${reason}`, 'withdrawal_names_no_one')
  }
}

/** Whether a path such as `user_data.em[1]` is of a member by which a withdrawal names a person. */
function isWithdrawalField(field: string): boolean {
  const name = /^user_data\.(\w+)/.exec(field)?.[1]
  const known = name === undefined ? null : findUserDataKey(name)
  return IDENTIFYING_KEYS.some(key => key === known?.key)
}
