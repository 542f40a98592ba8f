import { hash } from 'node:crypto'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { DAY_MILLISECONDS, subtractDays, toDaySpan } from '../../runtime/util/time.ts'

/** An action that changed an entity. */
export interface ExecutedChange {
  /** The entity before it. */
  before: EntityState
  executedAt: Date
}

export interface AccountHistory {
  /** The ad account, its campaigns and ad sets as they are now. */
  entities: readonly EntityState[]
  /** Oldest first. */
  changes: readonly ExecutedChange[]
  /** There was no spend before. */
  createdAt: Date
  /** What a campaign may spend in its life, by its ID, for those with a limit. */
  lifetimeBudgets: ReadonlyMap<string, number>
}

/** Spend in minor units by UTC day, of each campaign by its ID. */
export type CampaignSpend = ReadonlyMap<string, ReadonlyMap<string, number>>

/**
 * The spend of simulated campaigns: a campaign that was active at the end of a day spent most of
 * the daily budget that it had then. Budgets and statuses are traced back through the actions that
 * were executed. The same history gives the same spend, so that two readings never differ.
 */
export function simulateSpend(
  history: AccountHistory,
  days: readonly string[],
  now: Date,
): CampaignSpend {
  const changesByEntity = Map.groupBy(history.changes, ({ before }) => entityKey(before))
  const spend = new Map<string, Map<string, number>>()
  for (const { type, id } of history.entities) {
    if (type === 'campaign') spend.set(id, new Map())
  }
  const spenders = history.entities.filter(({ type }) => type !== 'ad')
  // Spend counts against a lifetime budget from the first day on.
  const spent = new Map<string, number>()
  for (const day of withEarlierDays(history, days)) {
    const share = shareOfDay(day, history.createdAt, now)
    const { until } = toDaySpan(day)
    const states = spenders.map(entity =>
      stateAt(entity, changesByEntity.get(entityKey(entity)) ?? [], until),
    )
    for (const [id, byDay] of spend) {
      const left = (history.lifetimeBudgets.get(id) ?? Infinity) - (spent.get(id) ?? 0)
      const wanted = Math.round(budgetInForce(id, states) * share * pace(id, day))
      const minor = Math.min(wanted, left)
      spent.set(id, (spent.get(id) ?? 0) + minor)
      if (days.includes(day)) byDay.set(day, minor)
    }
  }
  return spend
}

/** With the days since the account was created, if a lifetime budget needs them. */
function withEarlierDays(
  { createdAt, lifetimeBudgets }: AccountHistory,
  days: readonly string[],
): readonly string[] {
  const [first] = days
  if (lifetimeBudgets.size === 0 || first === undefined) return days
  const earlier = []
  let day = subtractDays(createdAt, 0)
  for (; day < first; day = subtractDays(toDaySpan(day).from, -1)) earlier.push(day)
  return [...earlier, ...days]
}

function entityKey({ type, id }: EntityState): string {
  return `${type} ${id}`
}

/** The state before the first later change; without one, the current state. */
function stateAt(
  current: EntityState,
  changes: readonly ExecutedChange[],
  until: Date,
): EntityState {
  return changes.find(({ executedAt }) => executedAt >= until)?.before ?? current
}

/** The budget of the campaign or, if it has none, those of its active ad sets. */
function budgetInForce(campaignId: string, states: readonly EntityState[]): number {
  const campaign = states.find(({ type, id }) => type === 'campaign' && id === campaignId)
  const account = states.find(({ type }) => type === 'ad_account')
  if (campaign?.status !== 'active' || account?.status === 'paused') return 0
  if (campaign.daily_budget_minor !== null) return campaign.daily_budget_minor
  return states
    .filter(({ type, parent_id }) => type === 'ad_set' && parent_id === campaignId)
    .filter(({ status }) => status === 'active')
    .reduce((sum, { daily_budget_minor }) => sum + (daily_budget_minor ?? 0), 0)
}

/** The part of the day between the creation of the account and now. */
function shareOfDay(day: string, createdAt: Date, now: Date): number {
  const { from, until } = toDaySpan(day)
  const start = Math.max(from.getTime(), createdAt.getTime())
  const end = Math.min(until.getTime(), now.getTime())
  return Math.max(0, end - start) / DAY_MILLISECONDS
}

const PACE_MIN = 0.92
const BYTE_MAX = 255

/** Platforms rarely spend a whole budget: between 92 and 100 % of it. */
function pace(campaignId: string, day: string): number {
  const [byte = 0] = hash('sha256', `${campaignId} ${day}`, 'buffer')
  return PACE_MIN + (1 - PACE_MIN) * (byte / BYTE_MAX)
}
