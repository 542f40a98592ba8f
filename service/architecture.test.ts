import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { it } from 'node:test'

/** The rooms, from the ground up. A file may import its own room and the rooms before it. */
const ROOMS = [
  'settings',
  'db',
  'http',
  'pages',
  'agents/audit',
  'consent',
  'identity',
  'access',
  'platforms',
  'ledger',
  'delivery',
  'ingestion',
  'reports',
  'erasure',
  'sandbox',
  'people',
  'oauth',
  'agents/policy',
  'agents/proposals',
  'agents/approvals',
  'agents/verifier',
  'agents/executor',
  'agents/account',
  'agents/mcp',
  'agents',
  'jobs',
  'documents',
  'provisioning',
  'metrics',
  'server.ts',
  'roles',
  'main.ts',
]

/** Touching the world is a privilege of a few file names. A file named anything else is pure. */
const PRIVILEGES = [
  { touch: /from 'kysely'|from 'pg'|\bpool\.query\(/, allowed: /^db\/|(^|[/-])store\.ts$/ },
  { touch: /\b(insert into|update \w+ set|delete from)\b/, allowed: /(^|[/-])store\.ts$/ },
  { touch: /from 'fastify'/, allowed: /^http\/|\/routes\.ts$/ },
  { touch: /\bfetch\(|from 'node:https'/, allowed: /\/client\.ts$/ },
  { touch: /from 'node:http'/, allowed: /\/client\.ts$|^http\/metrics-server\.ts$/ },
  { touch: /from 'prom-client'/, allowed: /^metrics\// },
  { touch: /from '@modelcontextprotocol\//, allowed: /^agents\/mcp\/mcp-server\.ts$/ },
  { touch: /from 'oidc-provider'/, allowed: /^oauth\/provider(-pages)?\.ts$/ },
  { touch: /from 'better-auth/, allowed: /^people\/auth-library\.ts$/ },
  { touch: /from 'nodemailer'/, allowed: /^people\/mail\/client\.ts$/ },
  { touch: /from 'ghtml'/, allowed: /^pages\/|[-/]pages?\.ts$/ },
  {
    touch: /(from |\bimport\(\s*)'graphile-worker'/,
    allowed: /^jobs\/worker\.ts$|^db\/jobs-schema\.ts$/,
  },
  {
    touch: /\bset(Timeout|Interval)\(|node:timers/,
    allowed:
      /\/worker\.ts$|^db\/(embedded-[\w-]+|wait-until)\.ts$|^roles\/http-worker-supervisor\.ts$/,
  },
  { touch: /node:child_process/, allowed: /^db\/[\w-]+\.ts$|^roles\/simulator-process\.ts$/ },
  {
    touch: /node:worker_threads/,
    allowed: /^roles\/http-worker(-supervisor)?\.ts$|^people\/mail\/outbox\.ts$/,
  },
  { touch: /\bprocess\.env\b/, allowed: /^settings\/|^main\.ts$/ },
  { touch: /\bnew Date\(\)|\bDate\.now\(\)/, allowed: /^main\.ts$|^roles\/http-worker\.ts$/ },
  { touch: /\bMath\.random\b/, allowed: /^roles\// },
]

const FORBIDDEN_NAMES =
  /^(utils?|helpers?|common|shared|misc|lib|manager|data|info|types|index)(\.|$)|-service\.ts$/
const LINES_MAX = 300
const LINE_CHARACTERS_MAX = 100
const FOLDERS = '{contract,service,graph-simulator,browser,design,benchmarks,examples,testing}'

const root = join(import.meta.dirname, '..')
const everything = globSync(`${FOLDERS}/**/*.ts`, {
  cwd: root,
  exclude: path => path.includes('node_modules'),
}).map(path => ({ path, source: readFileSync(join(root, path), 'utf8') }))
const files = everything
  .filter(({ path }) => path.startsWith('service/') && !path.endsWith('.test.ts'))
  .map(({ path, source }) => ({ path: path.slice('service/'.length), source }))

it('every room of the service stands in the order of rooms', () => {
  const strangers = files.map(({ path }) => path).filter(path => rank(path) === -1)
  assert.deepEqual(strangers, [])
})

it('every room depends only on the rooms before it', () => {
  const backwards = files.flatMap(({ path, source }) =>
    importsOf(path, source)
      .filter(target => rank(target) > rank(path))
      .map(target => `${path} imports ${target}`),
  )
  assert.deepEqual(backwards, [])
})

it('only a privileged file name touches the world', () => {
  const trespasses = files.flatMap(({ path, source }) =>
    PRIVILEGES.filter(({ touch, allowed }) => touch.test(code(source)) && !allowed.test(path)).map(
      ({ touch }) => `${path} matches ${touch}`,
    ),
  )
  assert.deepEqual(trespasses, [])
})

it('the consent and identity rooms know no store, no HTTP and no clock', () => {
  const pure = files.filter(({ path }) => /^(consent|identity)\//.test(path))
  assert.ok(pure.length > 20)
  const reaching = pure.filter(({ path, source }) =>
    importsOf(path, source).some(target => rank(target) < rank('consent/x') && rank(target) >= 0),
  )
  assert.deepEqual(
    reaching.map(({ path }) => path),
    [],
  )
})

it('the simulator imports nothing of the service, and the contract imports nobody', () => {
  const walls = everything.flatMap(({ path, source }) => {
    const foreign = path.startsWith('graph-simulator/')
      ? /from '(@signalbox\/|\.\.\/)/
      : path.startsWith('contract/')
        ? /from '(@signalbox\/(?!contract)|\.\.\/service)/
        : null
    return foreign?.test(source) ? [path] : []
  })
  assert.deepEqual(walls, [])
})

it('every file says in its name what belongs in it', () => {
  const drawers = everything
    .map(({ path }) => path)
    .filter(path => path.split('/').some(part => FORBIDDEN_NAMES.test(part)))
  assert.deepEqual(drawers, [])
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

/** A wing has rooms of its own, `agents/policy`; its other files stand where the wing does. */
function rank(path: string): number {
  const [wing = '', room = ''] = path.split('/')
  const inWing = ROOMS.indexOf(`${wing}/${room}`)
  return inWing === -1 ? ROOMS.indexOf(wing) : inWing
}

function importsOf(path: string, source: string): string[] {
  const imports = source.matchAll(/(?:from |\bimport\(\s*)'(\.[^']+)'/g)
  return [...imports].map(([, target = '']) => normalize(join(dirname(path), target)))
}

/** Comments may speak of what the code may not do. */
function code(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
}
