import { commitAudited } from '../../audit/commit-audited.ts'
import { FieldErrorList } from '../../runtime/http/field-errors.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { parseRowId } from '../../runtime/util/row-id.ts'
import {
  type AdAccount,
  findAdAccount,
  insertAdAccount,
  setAdAccountStatus,
} from './ad-account-store.ts'
import { parseDisplayName } from './display-name.ts'
import type { CurrentUser } from './session-store.ts'
import type { UsersContext } from './users-context.ts'
import { requireRole, userActor } from './workspaces.ts'

/** From a form or a body, not validated. */
interface AdAccountInput {
  workspaceId: unknown
  platformAccountId: unknown
  name: unknown
  currency: unknown
  timeZone: unknown
}

export const AD_PLATFORM = 'meta'
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))
/** IANA names, and UTC, which the list omits. */
export const TIME_ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]

/** Adds an ad account to a workspace. Throws a 403, a 404, or a 422 naming every invalid field. */
export async function addAdAccount(
  context: UsersContext,
  user: CurrentUser,
  input: AdAccountInput,
): Promise<AdAccount> {
  const intent = { workspaceId: input.workspaceId, action: 'manage_ad_accounts' } as const
  const { workspaceId } = await requireRole(context.database, user, intent)
  const at = context.now()
  const account = { ...validateAdAccount(input), platform: AD_PLATFORM, createdAt: at }
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
  status: unknown
}

/** Enables or disables an ad account. Disabling stops every agent and token bound to it. */
export async function changeAdAccountStatus(
  context: UsersContext,
  user: CurrentUser,
  { adAccountId, status, ...path }: AdAccountStatusChange,
): Promise<void> {
  const intent = { workspaceId: path.workspaceId, action: 'manage_ad_accounts' } as const
  const { workspaceId } = await requireRole(context.database, user, intent)
  if (status !== 'active' && status !== 'disabled') {
    throw Refusal.ofFields({ status: ['The status must be active or disabled.'] })
  }
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

const NAME_CHARACTERS_MAX = 100

function validateAdAccount(input: AdAccountInput) {
  const errors = new FieldErrorList()
  // Meta shows the ID with this prefix.
  const platformAccountId = trimmedText(input.platformAccountId).replace(/^act_/, '')
  const name = parseDisplayName(input.name, NAME_CHARACTERS_MAX)
  const currency = trimmedText(input.currency).toUpperCase()
  const timeZone = trimmedText(input.timeZone)
  if (!/^[1-9]\d{0,19}$/.test(platformAccountId)) {
    errors.add('platform_account_id', 'Enter the digits of the ad account ID, such as 1234567890.')
  }
  if (name === null) errors.add('name', 'Enter a name of 1 to 100 visible characters.')
  if (!CURRENCIES.has(currency)) {
    errors.add('currency', 'Enter a three-letter currency code such as EUR.')
  }
  if (!TIME_ZONES.includes(timeZone)) {
    errors.add('time_zone', 'Choose a time zone such as Europe/Berlin.')
  }
  if (!errors.isEmpty || name === null) throw Refusal.ofFields(errors.toErrors())
  return { platformAccountId, name, currency, timeZone }
}

function trimmedText(input: unknown): string {
  return typeof input === 'string' ? input.trim() : ''
}
