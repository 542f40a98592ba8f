import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { it } from 'node:test'

/**
 * The five layers, from the ground up. A file may import its own layer and the layers below, and the
 * modules of a layer import each other without a cycle.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['settings', 'util', 'tracing', 'db', 'http', 'pages', 'audit'],
  ['consent', 'identity'],
  ['access', 'events', 'delivery', 'platforms'],
  [
    'ingestion',
    'refusals',
    'reports',
    'erasure',
    'retention',
    'sandbox',
    'people',
    'oauth',
    'notifications',
    'agents',
    'dashboard',
  ],
  [
    'jobs',
    'metrics',
    'doctor',
    'documents',
    'provisioning',
    'server-options.ts',
    'register-routes.ts',
    'server.ts',
    'roles',
    'main.ts',
  ],
]

/** Modules whose folders are modules of their own: `agents/policy`. */
const HAS_SUBMODULES = 'agents'

/** Touching the world is a privilege of a few file names. A file named anything else is pure. */
const PRIVILEGES = [
  { touch: /from 'kysely'|from 'pg'|\bpool\.query\(/, allowed: /^db\/|(^|[/-])store\.ts$/ },
  { touch: /\b(insert into|update \w+ set|delete from)\b/, allowed: /(^|[/-])store\.ts$/ },
  { touch: /from 'fastify'/, allowed: /^http\/|\/routes\.ts$/ },
  { touch: /\bfetch\(|from 'node:https'/, allowed: /\/client\.ts$/ },
  { touch: /from 'node:http'/, allowed: /\/client\.ts$|^http\/metrics-server\.ts$/ },
  { touch: /from 'prom-client'/, allowed: /^metrics\// },
  { touch: /(from |\bimport\()'@opentelemetry\//, allowed: /^tracing\/open-telemetry\.ts$/ },
  { touch: /(from |\bimport\()'@modelcontextprotocol\//, allowed: /^agents\/mcp\/mcp-server\.ts$/ },
  {
    touch: /(from |\bimport\()'oidc-provider'/,
    allowed: /^oauth\/provider(-pages|-errors|-devices)?\.ts$/,
  },
  { touch: /(from |\bimport\()'@?better-auth/, allowed: /^people\/auth-library\.ts$/ },
  { touch: /'@zxcvbn-ts\//, allowed: /^people\/password-strength\.ts$/ },
  { touch: /(from |\bimport\()'nodemailer'/, allowed: /^people\/mail\/client\.ts$/ },
  { touch: /from '@fastify\/static'/, allowed: /^dashboard\/app-routes\.ts$/ },
  { touch: /from 'ghtml'/, allowed: /(^|\/)pages\/|[-/]pages?\.ts$/ },
  {
    touch: /(from |\bimport\(\s*)'graphile-worker'/,
    allowed: /^jobs\/worker\.ts$|^db\/migrate\.ts$/,
  },
  {
    touch: /\bset(Timeout|Interval)\(|node:timers/,
    allowed: /\/worker\.ts$|^roles\/http-worker-supervisor\.ts$|^util\/wait\.ts$/,
  },
  {
    touch: /node:child_process/,
    allowed: /^roles\/(simulator-process|fill-code-cache)\.ts$/,
  },
  {
    touch: /node:worker_threads/,
    allowed: /^roles\/http-worker(-supervisor)?\.ts$|^people\/mail\/client\.ts$/,
  },
  { touch: /\bprocess\.env\b/, allowed: /^settings\/|^main\.ts$|^roles\/fill-code-cache\.ts$/ },
  { touch: /\bnew Date\(\)|\bDate\.now\(\)/, allowed: /^main\.ts$|^roles\/http-worker\.ts$/ },
  { touch: /\bMath\.random\b/, allowed: /^roles\// },
]

/** Modules that work with any platform, and words that only Meta's plug-in may use. */
const CORE_MODULES = [
  'access',
  'delivery',
  'erasure',
  'events',
  'ingestion',
  'jobs',
  'metrics',
  'provisioning',
  'reports',
  'retention',
  'sandbox',
]
const PLATFORM_WORDS =
  /(?<!import\.)\bmeta\w*|\b\w*[a-z]Meta[A-Z]?\w*|\bfb(c|p|clid)\b|dataset_?ids?\b|testEventCode|facebook/gi

/** A word that is stored or on the wire stays. A file that no longer has it leaves the list. */
const PLATFORM_WORD_EXCEPTIONS: Record<string, { reason: string; words: readonly string[] }> = {
  'events/append-store.ts': {
    reason: 'The merge of a session keeps the time of a click that it has seen, in SQL.',
    words: ['fbc'],
  },
  'events/column-dictionaries.ts': {
    reason: 'Stored rows hold places in these lists.',
    words: ['fbc', 'fbp', 'fbclid'],
  },
  'jobs/worker.ts': { reason: "The job library's name of a log entry's members.", words: ['meta'] },
  'reports/make-reports.ts': { reason: 'A member of stored alerts.', words: ['metaCount'] },
  'reports/read-reports.ts': { reason: 'A member of the response.', words: ['meta_count'] },
  'reports/reconcile-day.ts': { reason: 'A member of stored reports.', words: ['meta'] },
  'reports/reconciliation-store.ts': { reason: 'A column.', words: ['meta_count'] },
  'reports/stage-store.ts': { reason: 'A column.', words: ['meta_count'] },
}

const FORBIDDEN_NAMES =
  /^(utils|helpers?|common|shared|misc|lib|manager|data|info|types|index|util)\.|^(utils|helpers|common|shared|misc|lib)$|-service\.ts$/
const LINES_MAX = 300
const LINE_CHARACTERS_MAX = 100
const FOLDERS =
  '{contract,service,graph-simulator,embedded-postgres,browser,dashboard,design,sdks,cli,benchmarks,' +
  'examples,reliability,testing}'

const root = join(import.meta.dirname, '..')
const everything = globSync(`${FOLDERS}/**/*.{ts,tsx}`, {
  cwd: root,
  exclude: path => path.includes('node_modules') || path.endsWith('.generated.ts'),
}).map(path => ({ path, source: readFileSync(join(root, path), 'utf8') }))
const files = everything
  .filter(({ path }) => path.startsWith('service/') && !path.endsWith('.test.ts'))
  .map(({ path, source }) => ({ path: path.slice('service/'.length), source }))

it('every file of the service belongs to a module of a layer', () => {
  const unknown = files.map(({ path }) => path).filter(path => layerOf(path) === -1)
  assert.deepEqual(unknown, [])
})

it('a layer imports no layer above it', () => {
  const upward = files.flatMap(({ path, source }) =>
    importsOf(path, source)
      .filter(target => layerOf(target) > layerOf(path))
      .map(target => `${path} imports ${target}`),
  )
  assert.deepEqual(upward, [])
})

it('modules import each other without a cycle', () => {
  assert.deepEqual(cyclesOf(importGraph(moduleOf)), [])
})

it('files import each other without a cycle, types included', () => {
  assert.deepEqual(cyclesOf(importGraph(path => path)), [])
})

for (const folder of ['contract', 'graph-simulator', 'browser', 'embedded-postgres']) {
  it(`files of ${folder} import each other without a cycle, types included`, () => {
    const own = everything.filter(
      ({ path }) => path.startsWith(`${folder}/`) && !path.endsWith('.test.ts'),
    )
    assert.ok(own.length > 10)
    assert.deepEqual(cyclesOf(importGraph(path => path, own)), [])
  })
}

it('only a privileged file name touches the world', () => {
  const violations = files.flatMap(({ path, source }) =>
    PRIVILEGES.filter(({ touch, allowed }) => touch.test(code(source)) && !allowed.test(path)).map(
      ({ touch }) => `${path} matches ${touch}`,
    ),
  )
  assert.deepEqual(violations, [])
})

it('the domain imports no store, no HTTP and no settings', () => {
  const domain = files.filter(({ path }) => layerOf(path) === 1)
  assert.ok(domain.length > 10)
  const reaching = domain.filter(({ path, source }) =>
    importsOf(path, source).some(target => layerOf(target) === 0 && moduleOf(target) !== 'util'),
  )
  assert.deepEqual(
    reaching.map(({ path }) => path),
    [],
  )
})

it('the simulator, the embedded PostgreSQL and the contract import nothing of the service', () => {
  const foreignImports = everything.flatMap(({ path, source }) => {
    const foreign = /^(graph-simulator|embedded-postgres)\//.test(path)
      ? /from '(@signalbox\/|\.\.\/)/
      : path.startsWith('contract/')
        ? /from '(@signalbox\/(?!contract)|\.\.\/service)/
        : null
    return foreign?.test(source) ? [path] : []
  })
  assert.deepEqual(foreignImports, [])
})

it('ad platforms get no transaction, so that no lock waits for their answers', () => {
  const path = 'agents/policy/ad-platform.ts'
  const source = files.find(file => file.path === path)?.source ?? ''
  assert.match(source, /\bchangeEntity\(adAccountId: number, change: EntityChange\)/)
  assert.deepEqual(importsOf(path, source), [])
})

it('every file says in its name what belongs in it', () => {
  const vague = everything
    .map(({ path }) => path)
    .filter(path => path.split('/').some(part => FORBIDDEN_NAMES.test(part)))
  assert.deepEqual(vague, [])
})

it(`no file is longer than ${LINES_MAX} lines and no line than ${LINE_CHARACTERS_MAX}`, () => {
  const long = everything.filter(({ source }) => source.split('\n').length > LINES_MAX + 1)
  const wide = everything.filter(
    ({ path, source }) =>
      !path.endsWith('.test.ts') &&
      source.split('\n').some(line => line.length > LINE_CHARACTERS_MAX && !line.includes('http')),
  )
  assert.deepEqual(
    [...long, ...wide].map(({ path }) => path),
    [],
  )
})

it('the core modules have no word of a platform', () => {
  const core = files.filter(({ path }) => CORE_MODULES.includes(path.split('/')[0] ?? ''))
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

function layerOf(path: string): number {
  const [module = ''] = path.split('/')
  return LAYERS.findIndex(modules => modules.includes(module))
}

function moduleOf(path: string): string {
  const [module = '', submodule = ''] = path.split('/')
  const isOfSubmodule = module === HAS_SUBMODULES && !submodule.endsWith('.ts')
  return isOfSubmodule ? `${module}/${submodule}` : module
}

/** What imports what, by files or by their modules. */
function importGraph(nodeOf: (path: string) => string, sources = files): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>()
  for (const { path, source } of sources) {
    const node = nodeOf(path)
    const targets = graph.get(node) ?? new Set()
    for (const target of importsOf(path, source).map(nodeOf))
      if (target !== node) targets.add(target)
    graph.set(node, targets)
  }
  return graph
}

/** Each cycle once, as the way round. */
function cyclesOf(graph: Map<string, Set<string>>): string[] {
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (node: string, way: readonly string[]): void => {
    const start = way.indexOf(node)
    if (start !== -1) cycles.push([...way.slice(start), node].join(' -> '))
    if (start !== -1 || done.has(node)) return
    for (const target of graph.get(node) ?? []) visit(target, [...way, node])
    done.add(node)
  }
  for (const node of graph.keys()) visit(node, [])
  return cycles
}

function importsOf(path: string, source: string): string[] {
  const imports = source.matchAll(/(?:from |\bimport\(\s*)'(\.[^']+)'/g)
  return [...imports].map(([, target = '']) => normalize(join(dirname(path), target)))
}

/** Comments may speak of what the code may not do. */
function code(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}
