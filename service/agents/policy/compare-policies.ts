import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import {
  AMOUNT_LIMITS,
  limitsForCurrency,
  NUMBER_LIMITS,
} from '@signalbox/contract/agents/amounts.ts'
import {
  type ActionPolicy,
  EXECUTION_MODES,
  type PolicyLimits,
} from '@signalbox/contract/agents/policy.ts'
import type { QuietHours } from './account-formats.ts'

/** What a policy permits. */
export type PolicyContent = Pick<ActionPolicy, 'execution_mode' | 'limits'>

/** Whether `after` permits anything that `before` does not. */
export function isLooser(before: PolicyContent, after: PolicyContent): boolean {
  return !permitsTheSame(after, combineStricter(before, after))
}

/** Permits what both policies permit: the part of a change that may apply at once. */
export function combineStricter(before: PolicyContent, after: PolicyContent): PolicyContent {
  const [one, other] = [before.limits, after.limits]
  const numbers = combineMembers(NUMBER_LIMITS, one, other)
  const amounts = combineMembers(AMOUNT_LIMITS, one, other)
  const currencies = [...one.currency_limits, ...other.currency_limits].map(own => own.currency)
  return {
    execution_mode: stricterMode(before, after),
    limits: {
      ...one,
      ...numbers,
      ...amounts,
      allowed_types: ACTION_TYPES.filter(
        type => one.allowed_types.includes(type) && other.allowed_types.includes(type),
      ),
      quiet_hours: coverQuietHours(one.quiet_hours, other.quiet_hours),
      currency_limits: [...new Set(currencies)].toSorted().map(currency => ({
        currency,
        ...combineMembers(
          AMOUNT_LIMITS,
          limitsForCurrency(one, currency),
          limitsForCurrency(other, currency),
        ),
      })),
    },
  }
}

function stricterMode(before: PolicyContent, after: PolicyContent) {
  const modes = [before.execution_mode, after.execution_mode]
  // EXECUTION_MODES ascend from the strictest.
  return EXECUTION_MODES.find(mode => modes.includes(mode)) ?? 'suggest_only'
}

type NumberMember = (typeof NUMBER_LIMITS)[number] | (typeof AMOUNT_LIMITS)[number]

function combineMembers<Member extends NumberMember>(
  members: readonly Member[],
  one: Record<Member, number | null>,
  other: Record<Member, number | null>,
): Record<Member, number | null> {
  const combined = members.map(member => [member, stricterLimit(one[member], other[member])])
  return Object.fromEntries(combined) as Record<Member, number | null>
}

function stricterLimit(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.min(one, other)
}

const DAY_MINUTES = 1_440

/**
 * The quiet hours that cover both, with as few others as possible: one period cannot say less about
 * two that do not touch.
 */
function coverQuietHours(one: QuietHours | null, other: QuietHours | null): QuietHours | null {
  if (one === null || other === null) return one ?? other
  const candidates = [
    one,
    other,
    { from: one.from, until: other.until },
    { from: other.from, until: one.until },
  ]
  const covering = candidates
    .filter(period => covers(period, one) && covers(period, other))
    .toSorted((a, b) => lengthMinutes(a) - lengthMinutes(b))
  return covering[0] ?? { from: one.from, until: one.from }
}

function covers(period: QuietHours, inner: QuietHours): boolean {
  if (lengthMinutes(period) === DAY_MINUTES) return true
  const offset = minutesBetween(period.from, inner.from)
  return offset + lengthMinutes(inner) <= lengthMinutes(period)
}

/** Equal times are the whole day. */
function lengthMinutes({ from, until }: QuietHours): number {
  return minutesBetween(from, until) || DAY_MINUTES
}

function minutesBetween(from: string, until: string): number {
  return (toMinutes(until) - toMinutes(from) + DAY_MINUTES) % DAY_MINUTES
}

function toMinutes(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}

function permitsTheSame(one: PolicyContent, other: PolicyContent): boolean {
  const currencies = new Set(
    [...one.limits.currency_limits, ...other.limits.currency_limits].map(own => own.currency),
  )
  const [first, second] = [one.limits, other.limits]
  return (
    one.execution_mode === other.execution_mode &&
    NUMBER_LIMITS.every(member => first[member] === second[member]) &&
    AMOUNT_LIMITS.every(member => first[member] === second[member]) &&
    ACTION_TYPES.every(
      type => first.allowed_types.includes(type) === second.allowed_types.includes(type),
    ) &&
    first.quiet_hours?.from === second.quiet_hours?.from &&
    first.quiet_hours?.until === second.quiet_hours?.until &&
    [...currencies].every(currency => hasSameAmounts(first, second, currency))
  )
}

function hasSameAmounts(one: PolicyLimits, other: PolicyLimits, currency: string): boolean {
  const [first, second] = [limitsForCurrency(one, currency), limitsForCurrency(other, currency)]
  return AMOUNT_LIMITS.every(member => first[member] === second[member])
}
