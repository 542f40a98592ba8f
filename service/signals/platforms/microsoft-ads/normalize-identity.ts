import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import type { FieldRules } from '../../identity/field-rules.ts'
import { normalizeEmail, removeDotsAndTag } from '../../identity/identifier-formats.ts'
import {
  COMMON_HASHED_RULES,
  COMMON_PLAIN_RULES,
  OTHER_HASHED_RULES,
  type PlatformIdentity,
} from '../../identity/normalize-user-data.ts'
import type { AcceptedIdentity, MatchKey, SeenClickIds, SubmittedIdentity } from '../platform.ts'
import { acceptIdentity, hasDigestOf } from '../shared-identity.ts'

/** Sources differ on what Microsoft hashes, so each form is a setting. */
export interface IdentityForms {
  emailForm: 'plain' | 'without_dots_and_tags'
  phoneForm: 'digits' | 'e164' | 'none'
}

/** Normalizes and hashes identity for Microsoft. The result contains no raw identifier. */
export function createNormalizer(forms: IdentityForms) {
  const rules = createRules(forms)
  return (submitted: SubmittedIdentity): AcceptedIdentity => acceptIdentity(submitted, rules)
}

function createRules({ emailForm, phoneForm }: IdentityForms): FieldRules {
  const { em, ph, external_id } = COMMON_HASHED_RULES
  const bare = {
    normalize: normalizeBareEmail,
    reason: DROP_REASONS.email,
    takesNoDigests: true as const,
  }
  return {
    hashed: {
      em: emailForm === 'plain' ? em : bare,
      ...(phoneForm !== 'none' && { ph: phoneForm === 'digits' ? ph : OTHER_HASHED_RULES.ph }),
      external_id,
    },
    plain: COMMON_PLAIN_RULES,
  }
}

/** Dots and what follows a + are removed before the @, at every domain. */
export function normalizeBareEmail(prepared: string): string | null {
  const address = normalizeEmail(prepared)
  return address === null ? null : removeDotsAndTag(address)
}

const MSCLKID = 'msclkid'

/** 32 hexadecimal digits, or the same as a UUID. The tag's cookie adds `-0` or `-1`. */
const CLICK_ID = /^([0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-[01])?$/i

/** An event with a click of its own does not get that of an earlier visit. */
export function joinMicrosoftClick({ own, seen }: SeenClickIds): Record<string, string> {
  const clicks = [own, ...seen].flatMap(clickIds => readClickId(clickIds[MSCLKID]) ?? [])
  return clicks[0] === undefined ? {} : { [MSCLKID]: clicks[0] }
}

/** The click ID in the form that Microsoft takes; null for any other text. */
function readClickId(text: string | undefined): string | null {
  return CLICK_ID.exec(text ?? '')?.[1] ?? null
}

/** Microsoft refuses an event without one of these. */
export function canMatchPerson(
  { digests, plain }: PlatformIdentity,
  clickIds: Record<string, string> = {},
): boolean {
  const hasPerson = hasDigestOf({ digests, plain }, ['em', 'ph', 'external_id'])
  return hasPerson || Boolean(plain[MSCLKID]) || readClickId(clickIds[MSCLKID]) !== null
}

/** The identifiers that Microsoft takes, the strongest first. */
export const MATCH_KEYS: readonly MatchKey[] = [
  {
    key: MSCLKID,
    from: '`click_ids.msclkid`, or the whole address of the page as `event_source`',
    enoughPercent: 10,
  },
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
  { key: 'client_ip_address', from: '`user_data.client_ip_address`', enoughPercent: 90 },
  { key: 'client_user_agent', from: '`user_data.client_user_agent`', enoughPercent: 90 },
  { key: 'external_id', from: '`user_data.external_id`', enoughPercent: 80 },
]
