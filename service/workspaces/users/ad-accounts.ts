import { AdAccountChange, AdAccountSubmission } from '@signalbox/contract/session/users.ts'
import { commitAudited } from '../../audit/audit-store.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import {
  type AdAccount,
  findAdAccount,
  insertAdAccount,
  setAdAccountStatus,
} from './ad-account-store.ts'
import type { CurrentUser } from './session-store.ts'
import { parseDisplayName } from './user-input.ts'
import type { UsersContext } from './users-context.ts'
import { requireRole, userActor } from './workspaces.ts'

/** Not validated. */
interface AdAccountInput {
  workspaceId: unknown
  body: unknown
}

export const AD_PLATFORM = 'meta'
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))
/** IANA names, and UTC, which the list omits. */
export const TIME_ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]

const NAME_CHARACTERS_MAX = 100

const adAccountValidator = new Validator(AdAccountSubmission, {
  members: {
    platform_account_id: {
      error: 'Enter the digits of the ad account ID, such as 1234567890.',
      parse: parsePlatformAccountId,
    },
    name: {
      error: 'Enter a name of 1 to 100 visible characters.',
      parse: name => parseDisplayName(name, NAME_CHARACTERS_MAX),
    },
    currency: { error: 'Enter a three-letter currency code such as EUR.', parse: parseCurrency },
    time_zone: { error: 'Choose a time zone such as Europe/Berlin.', parse: parseTimeZone },
  },
})

/** Meta shows the ID with a prefix. */
function parsePlatformAccountId(text: string): string | null {
  const id = text.trim().replace(/^act_/, '')
  return /^[1-9]\d{0,19}$/.test(id) ? id : null
}

function parseCurrency(text: string): string | null {
  const currency = text.trim().toUpperCase()
  return CURRENCIES.has(currency) ? currency : null
}

function parseTimeZone(text: string): string | null {
  const name = text.trim()
  return TIME_ZONES.includes(name) ? name : null
}

/** Adds an ad account to a workspace. Throws a 403, a 404, or a 422 naming every invalid field. */
export async function addAdAccount(
  context: UsersContext,
  user: CurrentUser,
  input: AdAccountInput,
): Promise<AdAccount> {
  const intent = { workspaceId: input.workspaceId, action: 'manage_ad_accounts' } as const
  const { workspaceId } = await requireRole(context.database, user, intent)
  const at = context.now()
  const submission = adAccountValidator.validate(input.body)
  const account = {
    platform: AD_PLATFORM,
    platformAccountId: submission.platform_account_id,
    name: submission.name,
    currency: submission.currency,
    timeZone: submission.time_zone,
    createdAt: at,
  }
  const added = await commitAudited(context, async (transaction, record) => {
    const inserted = await insertAdAccount(transaction, { workspaceId, ...account })
    if (!inserted) return null
    await context.onAdAccountAdded(transaction, inserted)
    record({
      workspaceId,
      at,
      actor: userActor(user),
      action: 'ad_account.added',
      subject: { type: 'ad_account', id: String(inserted.id) },
      details: { platform: account.platform, currency: account.currency },
    })
    return inserted
  })
  if (added) return added
  throw Refusal.ofFields({ platform_account_id: ['This workspace already has this ad account.'] })
}

interface AdAccountStatusChange {
  workspaceId: unknown
  adAccountId: unknown
  body: unknown
}

const changeValidator = new Validator(AdAccountChange, {
  members: { status: { error: 'The status must be active or disabled.' } },
})

/** Enables or disables an ad account. Disabling stops every agent and token bound to it. */
export async function changeAdAccountStatus(
  context: UsersContext,
  user: CurrentUser,
  { adAccountId, body, ...path }: AdAccountStatusChange,
): Promise<void> {
  const intent = { workspaceId: path.workspaceId, action: 'manage_ad_accounts' } as const
  const { workspaceId } = await requireRole(context.database, user, intent)
  const { status } = changeValidator.validate(body)
  const key = { workspaceId, adAccountId: parseRowId(adAccountId) ?? 0 }
  await commitAudited(context, async (transaction, record) => {
    const before = await findAdAccount(transaction, key)
    if (before === null) throw Refusal.notFound('Ad account not found in this workspace.')
    if (before.status === status) return
    await setAdAccountStatus(transaction, key, status)
    record({
      workspaceId,
      at: context.now(),
      actor: userActor(user),
      action: status === 'active' ? 'ad_account.enabled' : 'ad_account.disabled',
      subject: { type: 'ad_account', id: String(key.adAccountId) },
      details: {},
    })
  })
}
