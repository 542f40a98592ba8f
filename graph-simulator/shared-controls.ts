import type { RuleInjector } from './fault-injector.ts'
import { type HttpResponse, invalidBodyResponse, jsonResponse } from './http-messages.ts'
import type { RuleBase } from './rule-parser.ts'
import type { ControlHandler, SimulatorState } from './simulator-state.ts'

type ParseRules<Rule> = (body: unknown) => { rules: Rule[] } | { errors: Record<string, string[]> }

/** The methods of the control that holds the fault rules of one platform. */
export function createFaultControls<Rule extends RuleBase, Candidate>(
  select: (state: SimulatorState) => RuleInjector<Rule, Candidate>,
  parse: ParseRules<Rule>,
): Record<'GET' | 'POST' | 'DELETE', ControlHandler> {
  const show = (state: SimulatorState): HttpResponse =>
    jsonResponse(200, { rules: select(state).status() })
  const replace = (state: SimulatorState, rules: Rule[]): HttpResponse => {
    select(state).replace(rules)
    return show(state)
  }
  return {
    GET: show,
    POST: (state, { body }) => {
      const parsed = parse(body)
      if ('errors' in parsed) return invalidBodyResponse(parsed.errors)
      return replace(state, parsed.rules)
    },
    DELETE: state => replace(state, []),
  }
}

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 10_000

/** `?limit=` of a list of what a platform received; the default for anything but a count. */
export function readLimit(query: URLSearchParams): number {
  const limit = Number(query.get('limit') ?? LIMIT_DEFAULT)
  return Number.isSafeInteger(limit) && limit >= 0 ? Math.min(limit, LIMIT_MAX) : LIMIT_DEFAULT
}
