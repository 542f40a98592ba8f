import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { it } from 'node:test'

/** What a room may import besides itself. `program` wires all of them; `main.ts` starts it. */
const ROOMS: Record<string, { modules: readonly string[]; imports: readonly string[] }> = {
  runtime: {
    modules: ['db', 'http', 'jobs', 'pages', 'settings', 'tracing', 'util', 'webhooks'],
    imports: [],
  },
  audit: { modules: [], imports: ['runtime'] },
  workspaces: {
    modules: ['notifications', 'oauth', 'users'],
    imports: ['audit', 'runtime'],
  },
  signals: {
    modules: [
      ...['access', 'consent', 'delivery', 'erasure', 'event-reads', 'events', 'identity'],
      ...['ingestion', 'platforms', 'refusals', 'reports', 'retention', 'sandbox'],
    ],
    imports: ['audit', 'runtime'],
  },
  agents: {
    modules: [
      ...['account', 'approvals', 'campaigns', 'executor', 'mcp', 'pages', 'policy', 'proposals'],
    ],
    imports: ['signals', 'workspaces', 'audit', 'runtime'],
  },
  dashboard: {
    modules: ['live'],
    imports: ['agents', 'signals', 'workspaces', 'audit', 'runtime'],
  },
  program: {
    modules: ['doctor', 'documents', 'metrics', 'provisioning', 'roles', 'server'],
    imports: ['dashboard', 'agents', 'signals', 'workspaces', 'audit', 'runtime'],
  },
}

/** Touching the world is a privilege of a few file names. A file named anything else is pure. */
const PRIVILEGES = [
  { touch: /from 'kysely'|from 'pg'|\bpool\.query\(/, allowed: /^runtime\/db\/|-store\.ts$/ },
  { touch: /\b(insert into|update \w+ set|delete from)\b/, allowed: /-store\.ts$/ },
  { touch: /from 'fastify'/, allowed: /^runtime\/http\/|\/routes\.ts$/ },
  { touch: /\bfetch\(|from 'node:https'/, allowed: /\/client\.ts$/ },
  { touch: /from 'node:http'/, allowed: /\/client\.ts$|^runtime\/http\/metrics-server\.ts$/ },
  { touch: /from 'prom-client'/, allowed: /^program\/metrics\// },
  {
    touch: /(from |\bimport\()'@opentelemetry\//,
    allowed: /^runtime\/tracing\/open-telemetry\.ts$/,
  },
  { touch: /(from |\bimport\()'@modelcontextprotocol\//, allowed: /^agents\/mcp\/mcp-server\.ts$/ },
  { touch: /'oidc-provider'/, allowed: /^workspaces\/oauth\/provider(-pages|-hooks)?\.ts$/ },
  {
    touch: /(from |\bimport\()'@?better-auth/,
    allowed: /^workspaces\/users\/auth-(library|adapter-thread)\.ts$/,
  },
  { touch: /'openid-client'/, allowed: /^workspaces\/users\/single-sign-on\/client\.ts$/ },
  { touch: /'@zxcvbn-ts\//, allowed: /^workspaces\/users\/password-strength\.ts$/ },
  { touch: /(from |\bimport\()'nodemailer'/, allowed: /^workspaces\/users\/mail\/client\.ts$/ },
  { touch: /from '@fastify\/static'/, allowed: /^dashboard\/app-routes\.ts$/ },
  { touch: /from 'ghtml'/, allowed: /(^|\/)pages\/|[-/](pages?|routes)\.ts$/ },
  {
    touch: /(from |\bimport\(\s*)'graphile-worker'/,
    allowed: /^runtime\/(jobs\/worker|db\/migrate)\.ts$/,
  },
  {
    touch: /\bset(Timeout|Interval)\(|node:timers/,
    allowed: /\/worker\.ts$|^program\/roles\/http-worker-supervisor\.ts$|^runtime\/util\/wait\.ts$/,
  },
  {
    touch: /node:child_process/,
    allowed: /^program\/roles\/(simulator-process|fill-code-cache)\.ts$/,
  },
  {
    touch: /node:worker_threads/,
    allowed:
      /^program\/roles\/http-worker(-supervisor)?\.ts$|^workspaces\/users\/mail\/client\.ts$/,
  },
  {
    touch: /\bprocess\.env\b/,
    allowed: /^runtime\/settings\/|^main\.ts$|^program\/roles\/fill-code-cache\.ts$/,
  },
  {
    touch: /\bnew Date\(\)|\bDate\.now\(\)/,
    allowed: /^main\.ts$|^program\/roles\/http-worker\.ts$|\/single-sign-on\/client\.ts$/,
  },
  { touch: /\bMath\.random\b/, allowed: /^program\/roles\// },
]

const FORBIDDEN_NAMES =
  /^(utils|helpers?|common|shared|misc|lib|manager|data|info|types|index|util)\.|^(utils|helpers|common|shared|misc|lib)$|-service\.ts$/
const README_LINES_MAX = 40
const LINES_MAX = 300
const LINE_CHARACTERS_MAX = 100
const UNBREAKABLE = /http|^(import |\} from )/
const FOLDERS =
  '{contract,service,graph-simulator,embedded-postgres,clients,dashboard,design,examples,testing}'

const root = join(import.meta.dirname, '..')
const everything = globSync(`${FOLDERS}/**/*.{ts,tsx}`, {
  cwd: root,
  exclude: path => path.includes('node_modules') || path.endsWith('.generated.ts'),
}).map(path => ({ path, source: readFileSync(join(root, path), 'utf8') }))
const files = everything
  .filter(({ path }) => path.startsWith('service/') && !path.endsWith('.test.ts'))
  .map(({ path, source }) => ({ path: path.slice('service/'.length), source }))

it('every file of the service belongs to a room, and to a module of it or to none', () => {
  const unknown = files.filter(({ path }) => {
    const [room = '', module = ''] = path.split('/')
    if (path === 'main.ts') return false
    return !ROOMS[room] || !(module.endsWith('.ts') || ROOMS[room].modules.includes(module))
  })
  assertNone(unknown)
})

it('a room imports itself and the rooms that it names', () => {
  const upward = crossings()
    .filter(({ path }) => path !== 'main.ts')
    .filter(({ path, target }) => !ROOMS[roomOf(path)]?.imports.includes(roomOf(target)))
  assert.deepEqual(upward, [])
})

for (const room of Object.keys(ROOMS)) {
  it(`the README of ${room} lists the files that other rooms import`, () => {
    const readme = readFileSync(join(root, 'service', room, 'README.md'), 'utf8')
    assert.ok(readme.split('\n').length <= README_LINES_MAX + 1, 'it is too long')
    const doors = crossings()
      .filter(({ path, target }) => isDoorOf(room, path, target))
      .map(({ target }) => target.slice(room.length + 1))
    assert.deepEqual(listedDoors(readme).sort(), [...new Set(doors)].sort())
  })
}

it('every top-level folder says in a README what it is for', () => {
  const folders = readdirSync(root, { withFileTypes: true })
    .filter(entry => entry.isDirectory() && /^(?!node_modules$)[^.]/.test(entry.name))
    .map(({ name }) => name)
  for (const folder of folders) {
    const readme = readFileSync(join(root, folder, 'README.md'), 'utf8')
    assert.match(readme, /^# /, folder)
  }
})

it('modules of a room import each other without a cycle', () => {
  assert.deepEqual(cyclesOf(importGraph(moduleOf)), [])
})

it('files import each other without a cycle, types included', () => {
  assert.deepEqual(cyclesOf(importGraph(path => path)), [])
})

for (const folder of [
  ...['contract', 'graph-simulator', 'embedded-postgres', 'dashboard', 'examples'],
  ...['clients/browser', 'clients/cli', 'clients/sdks', 'testing'],
]) {
  it(`files of ${folder} import each other without a cycle, types included`, () => {
    const own = everything.filter(
      ({ path }) => path.startsWith(`${folder}/`) && !path.endsWith('.test.ts'),
    )
    assert.ok(own.length > 3)
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

it('consent and identity import no store, no HTTP and no settings', () => {
  const pure = files.filter(({ path }) => /^signals\/(consent|identity)\//.test(path))
  assert.ok(pure.length > 10)
  const reaching = pure.filter(({ path, source }) =>
    importsOf(path, source).some(
      target => !/^(signals\/(consent|identity)|runtime\/util)\//.test(target),
    ),
  )
  assertNone(reaching)
})

it('the simulator, the embedded PostgreSQL and the contract import nothing of the service', () => {
  const foreignImports = everything.flatMap(({ path, source }) => {
    const foreign = /^(graph-simulator|embedded-postgres)\//.test(path)
      ? /from '(@signalbox\/|\.\.\/(\.\.|service|contract|testing|clients)\b)/
      : path.startsWith('contract/')
        ? /from '(@signalbox\/(?!contract)|\.\.\/service)/
        : null
    return foreign?.test(source) ? [path] : []
  })
  assert.deepEqual(foreignImports, [])
})

it('every file says in its name what belongs in it', () => {
  const vague = everything
    .map(({ path }) => path)
    .filter(path => path.split('/').some(part => FORBIDDEN_NAMES.test(part)))
  assert.deepEqual(vague, [])
})

it('no object literal is spread into another: its members are written out', () => {
  const spreading = everything.filter(({ source }) => /\.{3}\{/.test(code(source)))
  assertNone(spreading)
})

it(`no file is longer than ${LINES_MAX} lines and no line than ${LINE_CHARACTERS_MAX}`, () => {
  const long = everything.filter(({ source }) => source.split('\n').length > LINES_MAX + 1)
  const wide = everything.filter(
    ({ path, source }) =>
      !path.endsWith('.test.ts') &&
      source.split('\n').some(line => line.length > LINE_CHARACTERS_MAX && !UNBREAKABLE.test(line)),
  )
  assertNone([...long, ...wide])
})

function assertNone(found: readonly { path: string }[]): void {
  const paths = found.map(({ path }) => path)
  assert.deepEqual(paths, [])
}

function roomOf(path: string): string {
  return path.split('/')[0] ?? ''
}

/** `signals/events`; a file that lies in no module stands for itself. */
function moduleOf(path: string): string {
  const [room = '', module = ''] = path.split('/')
  return ROOMS[room]?.modules.includes(module) ? `${room}/${module}` : path
}

/** All imports from one room into another. */
function crossings(): { path: string; target: string }[] {
  return files.flatMap(({ path, source }) =>
    importsOf(path, source)
      .filter(target => roomOf(target) !== roomOf(path))
      .map(target => ({ path, target })),
  )
}

/** `program` and `main.ts` wire everything, so what only they import is no door. */
function isDoorOf(room: string, path: string, target: string): boolean {
  if (roomOf(target) !== room) return false
  return room === 'program' || (path !== 'main.ts' && roomOf(path) !== 'program')
}

/** Below "Doors": a bullet for each module, with the names of its files. */
function listedDoors(readme: string): string[] {
  const [, doors = ''] = readme.split('\n## Doors\n')
  const [list = ''] = doors.split('\n## ')
  return list.split(/^- /m).flatMap(bullet => {
    const [, folder = '', names = ''] = /^`([\w/.-]+)\/`: ([\s\S]*)$/.exec(bullet) ?? []
    const files = [...names.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => `${name}.ts`)
    return files.map(file => (folder === '.' ? file : `${folder}/${file}`))
  })
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
