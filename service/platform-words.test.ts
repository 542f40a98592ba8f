import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

/** Modules that work with any platform, and words that only Meta's plug-in may use. */
const CORE_MODULES =
  /^(signals\/(?!consent|identity|platforms)|runtime\/jobs|program\/(metrics|provisioning))/
const PLATFORM_WORDS =
  /(?<!import\.)\bmeta\w*|\b\w*[a-z]Meta[A-Z]?\w*|\bfb(c|p|clid)\b|dataset_?ids?\b|testEventCode|facebook/gi

/** A word that is stored or on the wire stays. A file that no longer has it leaves the list. */
const PLATFORM_WORD_EXCEPTIONS: Record<string, { reason: string; words: readonly string[] }> = {
  'signals/events/session-store.ts': {
    reason: 'The merge of a session keeps the time of a click that it has seen, in SQL.',
    words: ['fbc', 'fbclid'],
  },
  'signals/events/column-dictionaries.ts': {
    reason: 'Stored rows hold places in these lists.',
    words: ['fbc', 'fbp', 'fbclid'],
  },
  'runtime/jobs/worker.ts': {
    reason: "The job library's name of a log entry's members.",
    words: ['meta'],
  },
  'signals/reports/make-reports.ts': { reason: 'A member of stored alerts.', words: ['metaCount'] },
  'signals/reports/read-reports.ts': { reason: 'A member of the response.', words: ['meta_count'] },
  'signals/reports/reconcile-day.ts': { reason: 'A member of stored reports.', words: ['meta'] },
  'signals/reports/reconcile-requests.ts': {
    reason: 'A member of stored reports.',
    words: ['meta'],
  },
  'signals/reports/reconciliation-store.ts': { reason: 'A column.', words: ['meta_count'] },
  'signals/events/stage-count-store.ts': { reason: 'A column.', words: ['meta_count'] },
  'signals/tables.ts': { reason: 'A column.', words: ['meta_count'] },
}

const files = globSync('**/*.ts', {
  cwd: import.meta.dirname,
  exclude: path => path.includes('node_modules') || path.endsWith('.test.ts'),
}).map(path => ({ path, source: readFileSync(join(import.meta.dirname, path), 'utf8') }))

it('the core modules have no word of a platform', () => {
  const core = files.filter(({ path }) => CORE_MODULES.test(path))
  assert.ok(core.length > 100)
  const found = core.flatMap(({ path, source }) =>
    [...new Set(code(source).match(PLATFORM_WORDS))]
      .filter(word => !PLATFORM_WORD_EXCEPTIONS[path]?.words.includes(word))
      .map(word => `${path} has ${word}`),
  )
  assert.deepEqual(found, [])
  const unused = Object.entries(PLATFORM_WORD_EXCEPTIONS).flatMap(([path, { words }]) => {
    const source = code(core.find(file => file.path === path)?.source ?? '')
    const gone = words.filter(word => !source.match(PLATFORM_WORDS)?.includes(word))
    return gone.map(word => `${path} no longer has ${word}`)
  })
  assert.deepEqual(unused, [])
})

/** Comments may speak of what the code may not do. */
function code(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}
