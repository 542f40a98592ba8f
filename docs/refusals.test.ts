import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { API_REFUSALS } from '@signalbox/contract/api-refusals.ts'
import { DOCUMENTED_OPERATIONS } from '@signalbox/contract/operations.ts'
import { REFUSAL_RULES } from '@signalbox/contract/refusal-rules.ts'
import { REFUSALS_PAGE_PATH, renderRefusalsPage } from './site/print-refusals.ts'

/** Where the documented operations refuse requests. Pages and the dashboard have sentences too. */
const SOURCES = [
  'runtime/http/*.ts',
  'signals/access/{authenticate,guard,forwarding,tracker-limits}*.ts',
  'signals/{ingestion,delivery,event-reads,reports,erasure,sandbox}/*.ts',
  'agents/action-routes.ts',
  'agents/proposals/*.ts',
  'workspaces/oauth/authenticate-agent.ts',
]
const SERVICE = join(import.meta.dirname, '../service')

const sources = globSync(SOURCES, { cwd: SERVICE })
  .filter(path => !path.includes('.test.') && !path.includes('page'))
  .map(path => ({ path, source: readFileSync(join(SERVICE, path), 'utf8') }))

const refusals = Object.values(API_REFUSALS)
const documented = refusals.flatMap(({ messages = [] }) => messages)

it('the page is fresh', () => {
  assert.equal(readFileSync(REFUSALS_PAGE_PATH, 'utf8'), renderRefusalsPage())
})

it('the page has one anchor for each rule by which refused events are counted', () => {
  const page = renderRefusalsPage()
  for (const name of Object.keys(REFUSAL_RULES)) {
    assert.equal(page.split(`### \`${name}\`\n`).length, 2, name)
  }
})

it('every status of an operation is on the page', () => {
  const statuses = new Set(refusals.map(({ status }) => status))
  for (const { config, schema } of DOCUMENTED_OPERATIONS) {
    const refused = Object.keys(schema.response)
      .map(Number)
      .filter(status => status >= 400)
    for (const status of refused) assert.ok(statuses.has(status), `${config.operationId} ${status}`)
  }
})

it('every sentence with which the code refuses a request is on the page', () => {
  const thrown = sources.flatMap(({ path, source }) =>
    refusedSentences(source).map(sentence => ({ path, sentence })),
  )
  assert.ok(thrown.length > 30)
  const missing = thrown.filter(({ sentence }) => !documented.some(text => matches(text, sentence)))
  assert.deepEqual(missing, [])
})

it('every sentence of the page is in the code', () => {
  const code = [
    ...sources.map(({ source }) => source),
    readFileSync(join(SERVICE, '../contract/errors.ts'), 'utf8'),
  ].join('\n')
  const joined = code.replace(/['"`] \+\s*['"`]/g, '').replaceAll(/\$\{[^}]*\}/g, '…')
  const isInCode = (text: string) => text.split('…').every(part => joined.includes(part.trim()))
  assert.deepEqual(
    documented.filter(text => !isInCode(text)),
    [],
  )
})

const TEXT = String.raw`(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|${'`[^`]*`'})`
const CALL = /(?:new Refusal\(\s*\d{3},|Refusal\.(?:notFound|unavailable|unauthenticated)\()\s*/
const THROWN = new RegExp(`${CALL.source}(?:(${TEXT})|([A-Z][A-Z_]+)\\b)`, 'g')

/** The texts and constants of the calls that make a refusal, and of the limits of addresses. */
function refusedSentences(source: string): string[] {
  const thrown = [...source.matchAll(THROWN)].map(
    ([, text, constant]) => text ?? constantText(source, constant ?? ''),
  )
  return [...thrown, ...frameworkSentences(source)].filter(Boolean).map(longestStart)
}

function constantText(source: string, name: string): string {
  const found = new RegExp(`const ${name} =\\s*(${TEXT})`).exec(source)
  return found?.[1] ?? ''
}

/** The rows of `FRAMEWORK_REFUSALS`. */
function frameworkSentences(source: string): string[] {
  return [...source.matchAll(/FST_\w+: \[\d{3}, ('[^']*')\]/g)].map(([, text = '']) => text)
}

/** Without quotes, up to the first value of a template. */
function longestStart(text: string): string {
  return text.slice(1, -1).split('${')[0] ?? ''
}

/** The sentence may be the beginning of a longer one, which the page shortens with `…`. */
function matches(text: string, sentence: string): boolean {
  const [start = ''] = text.split('…')
  return start === ''
    ? sentence === ''
    : sentence.startsWith(start.trim()) || text.startsWith(sentence)
}
