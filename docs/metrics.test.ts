import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createDatabaseFromTemplate, TEMPLATE_DATABASE } from '../testing/fixtures/database.ts'
import { createInstallation, type TestInstallation } from '../testing/fixtures/program.ts'

const page = readFileSync(join(import.meta.dirname, 'operations/metrics.md'), 'utf8')
const alerts = readFileSync(join(import.meta.dirname, 'operations/alerts.yml'), 'utf8')

/** A row of a table of the page: what is shown, and in which roles. */
interface Row {
  name: string
  type: string
  labels: string[]
  roles: string[]
}

const ROLES = ['all', 'serve', 'deliver']
const ours = rowsOf('## What Signalbox counts')
const ofProcess = rowsOf('## The process itself')

it('the page names each figure of each running role, with its type and labels', async test => {
  const place = createInstallation(test)
  const environment = {
    DATABASE_URL: await createDatabaseFromTemplate(test, TEMPLATE_DATABASE),
    SIGNALBOX_PLATFORM_URL: 'http://127.0.0.1:9',
  }
  for (const role of ROLES) {
    const scraped = await scrapeOf(place, role, environment)
    const expected = [...ours, ...ofProcess].filter(({ roles }) => roles.includes(role))
    assert.deepEqual(scraped.map(figureText).sort(), expected.map(figureText).sort(), role)
  }
})

it('each alert reads figures that are on the page', () => {
  assert.equal(alerts.match(/^ +- alert: \w+$/gm)?.length, 18)
  const read = [...alerts.matchAll(/\b(signalbox|nodejs|process)_\w+/g)].map(([name]) => name)
  assert.ok(read.length >= 6)
  const known = [...ours, ...ofProcess].map(({ name }) => name)
  const unknown = read.filter(name => !known.includes(figureOf(name)))
  assert.deepEqual(unknown, [])
})

it('each label that an alert reads is one of the figure it stands at', () => {
  const selectors = [...alerts.matchAll(/(signalbox_\w+)\{(\w+)/g)]
  assert.ok(selectors.length > 0)
  for (const [, name = '', label = ''] of selectors) {
    const row = ours.find(row => row.name === figureOf(name))
    assert.ok(row?.labels.includes(label), `${name}{${label}}`)
  }
})

/** A histogram is read by its parts. */
function figureOf(series: string): string {
  return series.replace(/_(bucket|sum|count)$/, '')
}

/** Starts the role, and gives what `/metrics` shows after one request to it. */
async function scrapeOf(
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
  return figuresOf(text)
}

/** Name, type and labels of each figure, without the bounds of a histogram's buckets. */
function figuresOf(text: string) {
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => {
    const series = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'))
    const labels = [...series].flatMap(([, pairs = '']) =>
      [...pairs.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
    )
    return { name, type, labels: [...new Set(labels)].filter(label => label !== 'le').sort() }
  })
}

/** What the process itself shows comes and goes with what it does, so its labels do too. */
function figureText({ name, type, labels }: Omit<Row, 'roles'>): string {
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
