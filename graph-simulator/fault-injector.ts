import type { FaultEdge, FaultMatch, FaultRule } from './fault-rules.ts'
import { isWithin, type RuleBase } from './rule-parser.ts'
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

interface ActiveRule<Rule> {
  rule: Rule
  fired: number
  nextRandom: () => number
}

const SEED_DEFAULT = 1
const EDGE_DEFAULT: FaultEdge = 'events'

/** The active fault rules. The first rule that matches, has times left and is drawn, fires. */
export class RuleInjector<Rule extends RuleBase, Candidate> {
  readonly #matches: (rule: Rule, candidate: Candidate) => boolean
  #active: ActiveRule<Rule>[] = []

  constructor(matches: (rule: Rule, candidate: Candidate) => boolean) {
    this.#matches = matches
  }

  /** Replaces all rules and restarts the counts and random sequences. */
  replace(rules: Rule[]): void {
    this.#active = rules.map(rule => ({
      rule,
      fired: 0,
      nextRandom: seededRandom(rule.seed ?? SEED_DEFAULT),
    }))
  }

  /** The rules with how often each fired. */
  status(): (Rule & { fired: number })[] {
    return this.#active.map(({ rule, fired }) => ({ ...rule, fired }))
  }

  /** The rule that fires for this request, now counted as fired; undefined when none does. */
  selectFault(candidate: Candidate): Rule | undefined {
    const active = this.#active.find(one => this.#shouldFire(one, candidate))
    if (!active) return undefined
    active.fired++
    return active.rule
  }

  #shouldFire({ rule, fired, nextRandom }: ActiveRule<Rule>, candidate: Candidate): boolean {
    if (rule.times !== undefined && fired >= rule.times) return false
    if (!this.#matches(rule, candidate)) return false
    // The sequence advances only for matching requests, so other traffic does not disturb it.
    return rule.probability === undefined || nextRandom() < rule.probability
  }
}

/** The fault rules of the Graph API. */
export class FaultInjector extends RuleInjector<FaultRule, FaultCandidate> {
  constructor() {
    super(matchesGraphRequest)
  }
}

function matchesGraphRequest({ edge, match }: FaultRule, candidate: FaultCandidate): boolean {
  if ((edge ?? EDGE_DEFAULT) !== candidate.edge) return false
  return match === undefined || matchesRequest(match, candidate)
}

function matchesRequest(
  match: FaultMatch,
  { dataset, isTest, events, at }: FaultCandidate,
): boolean {
  if (match.dataset !== undefined && match.dataset !== dataset) return false
  if (match.test !== undefined && match.test !== isTest) return false
  if (!isWithin(match, at)) return false
  if (match.event_name === undefined && match.event_id === undefined) return true
  return events.some(event => matchesEvent(match, event))
}

function matchesEvent({ event_name, event_id }: FaultMatch, event: unknown): boolean {
  if (typeof event !== 'object' || event === null) return false
  const members = event as Record<string, unknown>
  if (event_name !== undefined && members.event_name !== event_name) return false
  return event_id === undefined || members.event_id === event_id
}
