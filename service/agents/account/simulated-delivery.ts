import { hash } from 'node:crypto'
import type { AdMetrics } from '@signalbox/contract/agents/account.ts'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { CampaignSpend } from './simulated-spend.ts'

/** What a simulated entity delivered on one UTC day. */
export interface DayDelivery {
  day: string
  spendMinor: number
  impressions: number
  clicks: number
  /** People who saw it. */
  reach: number
}

/** By type and ID of the entity, such as `ad_set 12`. */
export type EntityDelivery = ReadonlyMap<string, readonly DayDelivery[]>

export function deliveryKey({ type, id }: Pick<EntityState, 'type' | 'id'>): string {
  return `${type} ${id}`
}

/**
 * What the simulated spend of campaigns bought: impressions, clicks and people, by day and ad. An
 * ad set or campaign has the sum of what is below it, so that the levels never contradict each
 * other. The same spend gives the same figures.
 */
export function simulateDelivery(
  entities: readonly EntityState[],
  spend: CampaignSpend,
): EntityDelivery {
  const delivery = new Map<string, DayDelivery[]>()
  const childrenOf = Map.groupBy(entities, ({ parent_id }) => parent_id)
  const deliver = (entity: EntityState, spendByDay: ReadonlyMap<string, number>): DayDelivery[] => {
    const children = entity.type === 'ad' ? [] : (childrenOf.get(entity.id) ?? [])
    const parts = children.map(child => deliver(child, splitSpend(spendByDay, child, children)))
    const days = [...spendByDay.keys()].map((day, index) => {
      const spendMinor = spendByDay.get(day) ?? 0
      const ofChildren = parts.flatMap(part => part[index] ?? [])
      return ofChildren.length > 0
        ? { ...addDays(ofChildren), day, spendMinor }
        : deliverDay(entity, day, spendMinor)
    })
    delivery.set(deliveryKey(entity), days)
    return days
  }
  for (const entity of entities) {
    if (entity.type === 'campaign') deliver(entity, spend.get(entity.id) ?? new Map())
  }
  return delivery
}

/** The part of a child by its weight; rounded so that the parts add up. */
function splitSpend(
  spendByDay: ReadonlyMap<string, number>,
  child: EntityState,
  children: readonly EntityState[],
): Map<string, number> {
  const active = children.filter(({ status }) => status === 'active')
  const sharing = active.length > 0 ? active : children
  const weights = sharing.map(weightOf)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const position = sharing.indexOf(child)
  const before = weights.slice(0, position).reduce((sum, weight) => sum + weight, 0)
  const part = (spend: number): number => {
    if (position < 0) return 0
    const end = (before + (weights[position] ?? 0)) / total
    return Math.round(spend * end) - Math.round((spend * before) / total)
  }
  return new Map([...spendByDay].map(([day, spend]) => [day, part(spend)]))
}

function weightOf(entity: EntityState): number {
  return entity.daily_budget_minor ?? 50 + chance(`weight ${deliveryKey(entity)}`) * 100
}

/** Minor units for a thousand impressions, clicks per impression, impressions per person. */
const CPM_MINOR = { from: 600, to: 1_400 }
const CLICK_RATE = { from: 0.006, to: 0.022 }
const DAY_FREQUENCY = { from: 1.05, to: 1.6 }

function deliverDay(entity: EntityState, day: string, spendMinor: number): DayDelivery {
  const key = `${deliveryKey(entity)} ${day}`
  const impressions = Math.round((spendMinor * 1_000) / within(CPM_MINOR, `cpm ${key}`))
  const clicks = Math.round(impressions * within(CLICK_RATE, `click ${key}`))
  const reach = Math.ceil(impressions / within(DAY_FREQUENCY, `reach ${key}`))
  return { day, spendMinor, impressions, clicks, reach }
}

function within({ from, to }: { from: number; to: number }, key: string): number {
  return from + (to - from) * chance(key)
}

/** From 0 to 1, always the same for a key. */
function chance(key: string): number {
  return hash('sha256', key, 'buffer').readUInt32BE() / 0xffff_ffff
}

function addDays(days: readonly DayDelivery[]): Omit<DayDelivery, 'day'> {
  const sum = (read: (one: DayDelivery) => number) => days.reduce((all, one) => all + read(one), 0)
  return {
    spendMinor: sum(day => day.spendMinor),
    impressions: sum(day => day.impressions),
    clicks: sum(day => day.clicks),
    reach: sum(day => day.reach),
  }
}

/** People come back: over more days, fewer of them are new. */
const RETURNING = 0.35

/** The figures of some days. Null where there was nothing to divide by. */
export function toMetrics(days: readonly DayDelivery[]): AdMetrics {
  const { impressions, clicks, spendMinor, reach } = addDays(days)
  const count = new Set(days.filter(day => day.reach > 0).map(({ day }) => day)).size
  const people = reach / Math.max(1, count) ** RETURNING
  const isShown = impressions > 0
  return {
    impressions,
    clicks,
    ctr_percent: isShown ? ((clicks * 100) / impressions).toFixed(2) : null,
    cpm_minor: isShown ? Math.round((spendMinor * 1_000) / impressions) : null,
    frequency: isShown ? (impressions / Math.max(1, people)).toFixed(2) : null,
  }
}
