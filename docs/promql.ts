import { parser } from '@prometheus-io/lezer-promql'

export interface LabelMatcher {
  label: string
  operator: string
  value: string
}

/** What an expression of Prometheus reads. */
export interface ParsedExpression {
  selectors: { series: string; matchers: LabelMatcher[] }[]
  /** Labels of `by (…)` and `without (…)`. */
  groupedBy: string[]
}

/** Parses an expression with Prometheus' own grammar. Throws when it is no PromQL. */
export function parseExpression(expression: string): ParsedExpression {
  const parsed: ParsedExpression = { selectors: [], groupedBy: [] }
  let matcher: LabelMatcher | null = null
  let isGrouping = false
  parser.parse(expression).iterate({
    enter({ name, type, from, to }) {
      const text = expression.slice(from, to)
      if (type.isError) throw new Error(`not PromQL at character ${from}: ${expression}`)
      if (name === 'VectorSelector') parsed.selectors.push({ series: '', matchers: [] })
      const selector = parsed.selectors.at(-1)
      if (name === 'Identifier' && selector) selector.series = text
      if (name === 'GroupingLabels') isGrouping = true
      if (name === 'LabelName' && isGrouping) parsed.groupedBy.push(text)
      if (name === 'UnquotedLabelMatcher') {
        matcher = { label: '', operator: '', value: '' }
        selector?.matchers.push(matcher)
      }
      if (!matcher) return
      if (name === 'LabelName') matcher.label = text
      if (name === 'MatchOp') matcher.operator = text
      if (name === 'StringLiteral') matcher.value = JSON.parse(text)
    },
    leave({ name }) {
      if (name === 'UnquotedLabelMatcher') matcher = null
      if (name === 'GroupingLabels') isGrouping = false
    },
  })
  return parsed
}
