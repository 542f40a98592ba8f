import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createDatabaseFromTemplate, TEMPLATE_DATABASE } from '../testing/fixtures/database.ts'
import {
  createInstallation,
  DEFAULT_HTTP_WORKERS,
  type TestInstallation,
} from '../testing/fixtures/program.ts'

const page = readFileSync(join(import.meta.dirname, 'operations/metrics.md'), 'utf8')
const alerts = readFileSync(join(import.meta.dirname, 'operations/alerts.yml'), 'utf8')

/** A row of a table on the page. */
interface Row {
  name: string
  type: string
  labels: string[]
  roles: string[]
}

const ROLES = ['all', 'serve', 'deliver']
const serviceMetrics = rowsOf('## What Signalbox counts')
const processMetrics = rowsOf('## The process itself')

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

it('each alert uses metrics that are on the page', () => {
  assert.equal(alerts.match(/^ +- alert: \w+$/gm)?.length, 19)
  const read = [...alerts.matchAll(/\b(signalbox|nodejs|process)_\w+/g)].map(([name]) => name)
  assert.ok(read.length >= 6)
  const known = [...serviceMetrics, ...processMetrics].map(({ name }) => name)
  const unknown = read.filter(name => !known.includes(metricOf(name)))
  assert.deepEqual(unknown, [])
})

it('each alert uses labels that its metric has', () => {
  const selectors = [...alerts.matchAll(/(signalbox_\w+)\{(\w+)/g)]
  assert.ok(selectors.length > 0)
  for (const [, name = '', label = ''] of selectors) {
    const row = serviceMetrics.find(row => row.name === metricOf(name))
    assert.ok(row?.labels.includes(label), `${name}{${label}}`)
  }
})

/** The metric of a series; a histogram has several. */
function metricOf(series: string): string {
  return series.replace(/_(bucket|sum|count)$/, '')
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
function formatMetric({ name, type, labels }: Omit<Row, 'roles'>): string {
  return name.startsWith('signalbox_') ? `${type} ${name} ${labels}` : `${type} ${name}`
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
