import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { parse as parseYaml } from 'yaml'
import { keysOf } from '../contract/closed-set.ts'
import { METRICS } from '../service/program/metrics/metric-table.ts'
import { createDatabaseFromTemplate, TEMPLATE_DATABASE } from '../testing/fixtures/database.ts'
import {
  createInstallation,
  DEFAULT_HTTP_WORKERS,
  type TestInstallation,
} from '../testing/fixtures/program.ts'
import { type LabelMatcher, parseExpression } from './promql.ts'

const page = readFileSync(join(import.meta.dirname, 'operations/metrics.md'), 'utf8')
const monitoring = join(import.meta.dirname, '..', 'deploy', 'monitoring')

/** A row of a table on the page. */
interface Row {
  name: string
  type: string
  labels: string[]
  roles: string[]
}

type MetricShape = Pick<Row, 'name' | 'type'> & { labels: readonly string[] }

const ROLES = ['all', 'serve', 'deliver']
const serviceMetrics = rowsOf('## What Signalbox counts')
const processMetrics = rowsOf('## The process itself')

it('the page lists exactly the metrics of the table, with type and labels', () => {
  const inCode = keysOf(METRICS).map(name => formatMetric({ name, ...METRICS[name] }))
  assert.deepEqual(serviceMetrics.map(formatMetric).sort(), inCode.sort())
})

it('the page lists exactly the metrics of each running role, with type and labels', async test => {
  const place = createInstallation(test)
  const environment = {
    ...DEFAULT_HTTP_WORKERS,
    DATABASE_URL: await createDatabaseFromTemplate(test, TEMPLATE_DATABASE),
    SIGNALBOX_PLATFORM_URL: 'http://127.0.0.1:9',
  }
  for (const role of ROLES) {
    const scraped = await scrapeRole(place, role, environment)
    const expected = [...serviceMetrics, ...processMetrics].filter(({ roles }) =>
      roles.includes(role),
    )
    assert.deepEqual(scraped.map(formatMetric).sort(), expected.map(formatMetric).sort(), role)
  }
})

/** What the running roles answered, all together: `name{labels}` of each series. */
const scraped: string[] = []

it('each alert is PromQL over series that the roles have, and says what to do', () => {
  const { groups } = parseYaml(readFileSync(join(monitoring, 'alerts.yml'), 'utf8')) as RuleFile
  const rules = groups.flatMap(group => group.rules)
  assert.equal(rules.length, 22)
  for (const { alert, expr, labels, annotations } of rules) {
    assert.match(alert, /^Signalbox[A-Z]\w+$/)
    assert.match(labels.severity, /^(page|ticket)$/)
    assert.ok(annotations.summary && annotations.action, alert)
    assert.deepEqual(findUnknownParts(expr), [], alert)
  }
})

it('each panel of the dashboard is PromQL over series that the roles have', () => {
  const text = readFileSync(join(monitoring, 'grafana-dashboard.json'), 'utf8')
  const { panels, templating } = JSON.parse(text) as Dashboard
  assert.ok(panels.length > 25)
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  for (const { title, type, targets = [] } of panels) {
    assert.ok(type === 'row' || targets.length > 0, title)
    for (const { expr } of targets) {
      assert.deepEqual(findUnknownParts(expr.replaceAll('$__rate_interval', '5m')), [], title)
    }
  }
  const used = new Set([...text.matchAll(/\$\{?([a-z]\w*)/g)].map(([, name]) => name))
  assert.deepEqual([...used].sort(), templating.list.map(({ name }) => name).sort())
})

interface RuleFile {
  groups: { rules: Rule[] }[]
}

interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; action: string }
}

interface Dashboard {
  panels: { id: number; title: string; type: string; targets?: { expr: string }[] }[]
  templating: { list: { name: string }[] }
}

/** Prometheus adds these to every series, and `up` itself. */
const SCRAPE_LABELS = ['job', 'instance']
/** Their values depend on traffic; those of all other labels are there from the start. */
const TRAFFIC_LABELS = ['operation', 'status']

/** Of the table, without labels; no value without a replica, which the roles here do not have. */
const REPLICA_SERIES: readonly string[] = [
  'signalbox_replica_lag_seconds' satisfies keyof typeof METRICS,
]

/** Series, labels and label values of an expression that no role has. */
function findUnknownParts(expression: string): string[] {
  assert.ok(scraped.length > 100, 'the scrape comes first')
  const { selectors, groupedBy } = parseExpression(expression)
  assert.ok(selectors.length > 0)
  const known = [...SCRAPE_LABELS]
  const unknown = selectors.flatMap(({ series, matchers }) => {
    if (series === 'up') return []
    if (REPLICA_SERIES.includes(series) && matchers.length === 0) return []
    const found = scraped.filter(line => line.startsWith(`${series}{`))
    if (found.length === 0 || !isInTable(series)) return [series]
    const labels = found.flatMap(line => [...line.matchAll(/(\w+)="/g)].map(([, name]) => name))
    known.push(...labels.map(String))
    return matchers
      .filter(({ label }) => !SCRAPE_LABELS.includes(label))
      .filter(it => !labels.includes(it.label) || !hasMatch(found, it))
      .map(({ label, operator, value }) => `${series}{${label}${operator}"${value}"}`)
  })
  return [...unknown, ...groupedBy.filter(label => !known.includes(label))]
}

/** Series of the process itself are those of the library. */
function isInTable(series: string): boolean {
  return !series.startsWith('signalbox_') || tableSeries.includes(series)
}

/** The series of the table, by the names that a query selects them with. */
const tableSeries = keysOf(METRICS).flatMap(name =>
  METRICS[name].type === 'histogram'
    ? ['bucket', 'sum', 'count'].map(part => `${name}_${part}`)
    : [name],
)

/** Whether a series has the value, or one of the values, that a matcher asks for. */
function hasMatch(series: readonly string[], { label, operator, value }: LabelMatcher): boolean {
  if (TRAFFIC_LABELS.includes(label)) return true
  const pattern = operator.endsWith('~') ? value : value.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return series.some(line => new RegExp(`[{,]${label}="(?:${pattern})"`).test(line))
}

/** Starts the role and returns the content of `/metrics` after one request. */
async function scrapeRole(
  place: TestInstallation,
  role: string,
  environment: Record<string, string>,
) {
  const program = place.start({ role, environment })
  const [, url = ''] = await program.waitForOutput(
    /^(?: {2}metrics {6}|Its metrics are at )(\S+)$/m,
  )
  const [, origin] = /^Signalbox (?:is ready|serves) at (\S+)$/m.exec(program.stderr()) ?? []
  if (origin) await (await fetch(`${origin}/livez`)).text()
  const response = await fetch(url)
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const text = await response.text()
  for (const [line] of text.matchAll(/^[a-z]\w*(\{.*\})?(?= )/gm)) {
    scraped.push(line.endsWith('}') ? line : `${line}{}`)
  }
  assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
  return parseMetrics(text)
}

/** Name, type and labels of each metric, without the bucket label of histograms. */
function parseMetrics(text: string) {
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => {
    const series = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'))
    const labels = [...series].flatMap(([, pairs = '']) =>
      [...pairs.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
    )
    return { name, type, labels: [...new Set(labels)].filter(label => label !== 'le').sort() }
  })
}

/** Labels of process metrics are left out, because they depend on the activity of the process. */
function formatMetric({ name, type, labels }: MetricShape): string {
  return name.startsWith('signalbox_') ? `${type} ${name} ${[...labels].sort()}` : `${type} ${name}`
}

function rowsOf(heading: string): Row[] {
  const [, part = ''] = page.split(heading)
  const [table = ''] = part.split(/^## /m)
  return [...table.matchAll(/^\| `(.*)$/gm)].map(([line]) => {
    const [name = '', type = '', labels = '', roles = ''] = line
      .split('|')
      .slice(1)
      .map(cell => cell.trim().replaceAll('`', ''))
    const words = (text: string) => text.split(', ').filter(word => word !== '')
    return { name, type, labels: words(labels).sort(), roles: words(roles) }
  })
}
