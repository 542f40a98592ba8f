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

const FILES_MAX = 10
/** Where a platform may be named, beside the service. */
const ROOTS = 'contract,service,graph-simulator,clients,dashboard/src,embedded-postgres'
/** The words by which code knows a platform, and files that mean something else by one. */
const NAMES: Record<string, RegExp> = {
  Pinterest: /pinterest/i,
  TikTok: /tiktok/i,
  Snapchat: /snapchat/i,
  'OpenAI Ads': /openai(?!'s| strict)/i,
  LinkedIn: /linkedin/i,
  Reddit: /reddit/i,
  'Microsoft Advertising': /microsoft/i,
}

it('ten files at most name a platform outside of its folder, as the decision lists', () => {
  const root = join(import.meta.dirname, '..')
  const sources = globSync(`{${ROOTS}}/**/*.{ts,tsx}`, {
    cwd: root,
    exclude: path => /node_modules|\.test\.ts|vectors/.test(path),
  }).map(path => ({ path, source: readFileSync(join(root, path), 'utf8') }))
  const decision = readFileSync(join(root, 'docs/decisions/0063-files-of-a-platform.md'), 'utf8')
  for (const [label, name] of Object.entries(NAMES)) {
    const own = sources.filter(({ path, source }) => !name.test(path) && name.test(source))
    const paths = own.map(({ path }) => path)
    assert.ok(paths.includes('service/signals/platforms/plug-ins.ts'), label)
    assert.ok(paths.length <= FILES_MAX, `${label}: ${paths.join(', ')}`)
    const row = new RegExp(`^\\| ${label} +\\| ${paths.length} +\\|$`, 'm')
    assert.match(decision, row, `${label}: ${paths.join(', ')}`)
  }
})

/** Comments may speak of what the code may not do. */
function code(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}
