import { FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { parseRowId } from '../util/row-id.ts'
import { parseName } from './account-fields.ts'
import { type AdAccount, insertAdAccount, setAdAccountStatus } from './ad-account-store.ts'
import type { PeopleContext } from './people-context.ts'
import type { CurrentPerson } from './session-store.ts'
import { requireRole } from './workspaces.ts'

/** As it came from a form or a body. */
export interface AdAccountInput {
  workspaceId: unknown
  platformAccountId: unknown
  name: unknown
  currency: unknown
  timeZone: unknown
}

export const AD_PLATFORM = 'meta'
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))
/** IANA names, with UTC, which the list leaves out. */
export const TIME_ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')]

/**
 * Adds an ad account to a workspace, with all that belongs to one. Throws a 403, 404 or
 * 422 that names every wrong field.
 */
export async function addAdAccount(
  { database, now, onAdAccountAdded }: PeopleContext,
  person: CurrentPerson,
  entry: AdAccountInput,
): Promise<AdAccount> {
  const intent = { workspaceId: entry.workspaceId, action: 'manage_ad_accounts' } as const
  const { workspaceId } = await requireRole(database, person, intent)
  const account = { ...validateAdAccount(entry), platform: AD_PLATFORM, createdAt: now() }
  const added = await database.query.transaction().execute(async query => {
    const inserted = await insertAdAccount({ query }, { workspaceId, ...account })
    if (inserted) await onAdAccountAdded({ query }, inserted)
    return inserted
  })
  if (added) return added
  throw Refusal.ofFields({ platform_account_id: ['This workspace has this ad account already.'] })
}

export interface AdAccountStatusChange {
  workspaceId: unknown
  adAccountId: unknown
  status: unknown
}

/** Disables an ad account, which stops every agent and token that is bound to it, or enables it. */
export async function changeAdAccountStatus(
  { database }: PeopleContext,
  person: CurrentPerson,
  { workspaceId: given, adAccountId, status }: AdAccountStatusChange,
): Promise<void> {
  const intent = { workspaceId: given, action: 'manage_ad_accounts' } as const
  const { workspaceId } = await requireRole(database, person, intent)
  if (status !== 'active' && status !== 'disabled') {
    throw Refusal.ofFields({ status: ['The status is active or disabled.'] })
  }
  const name = { workspaceId, adAccountId: parseRowId(adAccountId) ?? 0 }
  if (await setAdAccountStatus(database, name, status)) return
  throw Refusal.notFound('There is no such ad account in this workspace.')
}

function validateAdAccount(entry: AdAccountInput) {
  const faults = new FieldErrorList()
  // Meta shows the number with this mark before it.
  const platformAccountId = trimmedText(entry.platformAccountId).replace(/^act_/, '')
  const name = parseName(entry.name)
  const currency = trimmedText(entry.currency).toUpperCase()
  const timeZone = trimmedText(entry.timeZone)
  if (!/^[1-9]\d{0,19}$/.test(platformAccountId)) {
    faults.add('platform_account_id', 'Write the digits of the ad account, such as 1234567890.')
  }
  if (name === null) faults.add('name', 'Write a name of 1 to 100 characters.')
  if (!CURRENCIES.has(currency)) {
    faults.add('currency', 'Write the three letters of a currency, such as EUR.')
  }
  if (!TIME_ZONES.includes(timeZone)) {
    faults.add('time_zone', 'Choose a time zone such as Europe/Berlin.')
  }
  if (!faults.isEmpty || name === null) throw Refusal.ofFields(faults.toErrors())
  return { platformAccountId, name, currency, timeZone }
}

function trimmedText(given: unknown): string {
  return typeof given === 'string' ? given.trim() : ''
}
