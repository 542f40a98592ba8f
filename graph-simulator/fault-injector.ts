import type { FaultEdge, FaultMatch, FaultRule } from './fault-rules.ts'
import { seededRandom } from './seeded-random.ts'

/** The parts of a request that a rule can match. */
export interface FaultCandidate {
  edge: FaultEdge
  dataset: string
  isTest: boolean
  /** The parsed elements of `data`, not yet validated. */
  events: unknown[]
  at: Date
}

/** A rule with how often it fired. */
export type FaultStatus = FaultRule & { fired: number }

interface ActiveFault {
  rule: FaultRule
  fired: number
  nextRandom: () => number
}

const SEED_DEFAULT = 1
const EDGE_DEFAULT: FaultEdge = 'events'

/** The active fault rules. The first rule that matches, has times left and is drawn, fires. */
export class FaultInjector {
  #faults: ActiveFault[] = []

  /** Replaces all rules and restarts the counts and random sequences. */
  replace(rules: FaultRule[]): void {
    this.#faults = rules.map(rule => ({
      rule,
      fired: 0,
      nextRandom: seededRandom(rule.seed ?? SEED_DEFAULT),
    }))
  }

  status(): FaultStatus[] {
    return this.#faults.map(({ rule, fired }) => ({ ...rule, fired }))
  }

  /** The rule that fires for this request, now counted as fired; undefined when none does. */
  selectFault(candidate: FaultCandidate): FaultRule | undefined {
    const fault = this.#faults.find(active => shouldFire(active, candidate))
    if (!fault) return undefined
    fault.fired++
    return fault.rule
  }
}

function shouldFire({ rule, fired, nextRandom }: ActiveFault, candidate: FaultCandidate): boolean {
  if ((rule.edge ?? EDGE_DEFAULT) !== candidate.edge) return false
  if (rule.times !== undefined && fired >= rule.times) return false
  if (rule.match && !matchesRequest(rule.match, candidate)) return false
  // The sequence advances only for matching requests, so other traffic does not disturb it.
  return rule.probability === undefined || nextRandom() < rule.probability
}

function matchesRequest(
  match: FaultMatch,
  { dataset, isTest, events, at }: FaultCandidate,
): boolean {
  if (match.dataset !== undefined && match.dataset !== dataset) return false
  if (match.test !== undefined && match.test !== isTest) return false
  if (match.from !== undefined && at.getTime() < Date.parse(match.from)) return false
  if (match.until !== undefined && at.getTime() >= Date.parse(match.until)) return false
  if (match.event_name === undefined && match.event_id === undefined) return true
  return events.some(event => matchesEvent(match, event))
}

function matchesEvent({ event_name, event_id }: FaultMatch, event: unknown): boolean {
  if (typeof event !== 'object' || event === null) return false
  const members = event as Record<string, unknown>
  if (event_name !== undefined && members.event_name !== event_name) return false
  return event_id === undefined || members.event_id === event_id
}
