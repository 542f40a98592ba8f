import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
/** What people copy: examples, forwarders, recipes, and the programs on pages. */
const COPIED = [
  'examples/**/*.{ts,js,php,md}',
  'clients/browser/{forwarders/*,README.md}',
  'clients/cli/README.md',
  'clients/sdks/*/README.md',
  'clients/sdks/typescript/recipes/*.ts',
  'clients/sdks/python/examples/*.py',
  'clients/sdks/go/examples/**/*.go',
  'docs/**/*.md',
  'README.md',
]

/** An empty key signs and verifies like any other: what is missing must not become one. */
const EMPTY_DEFAULTS: readonly RegExp[] = [
  // JavaScript: process.env.SECRET ?? '', environment['TOKEN'] || ""
  /\benv(?:ironment)?\b[^\n;,]{0,60}(?:\?\?|\|\|)\s*(['"`])\1/i,
  // JavaScript: { secret = '' }
  /\b\w*(?:secret|token|password|api_?key)\w*\s*=\s*(['"`])\1(?!\1)/i,
  // Python: os.environ.get("SECRET", ""), os.getenv("SECRET") or ""
  /\b(?:environ\.get|getenv)\(\s*["'][^"']+["'](?:\s*,\s*(["'])\1\s*\)|\s*\)\s*or\s*(["'])\2)/,
  // PHP: getenv( 'SECRET' ) ?: '', $_ENV['SECRET'] ?? ''
  /(?:getenv\([^)]*\)|\$_(?:ENV|SERVER)\[[^\]]*\])\s*(?:\?:|\?\?)\s*(["'])\1/i,
]

/** Go has no default: its variable is empty, and a program must look. */
const GO_READ = /os\.Getenv\("\w*(?:SECRET|TOKEN|KEY)\w*"\)/g

function findFaults(path: string, text: string): string[] {
  const faults = EMPTY_DEFAULTS.flatMap(pattern => pattern.exec(text)?.[0] ?? [])
  const reads = [...text.matchAll(GO_READ)].map(([read]) => read)
  const unchecked = reads.filter(read => !text.includes(`${read} == ""`))
  return [...faults, ...unchecked].map(fault => `${path}: ${fault}`)
}

it('no secret of what people copy has an empty default', () => {
  const paths = globSync(COPIED, { cwd: ROOT, exclude: path => path.includes('node_modules') })
  const own = paths.filter(path => !/[._]test\.\w+$/.test(path))
  assert.ok(own.length > 80, `${own.length} files`)
  const faults = own.flatMap(path => findFaults(path, readFileSync(join(ROOT, path), 'utf8')))
  assert.deepEqual(faults, [])
})

it('finds an empty default in every language', () => {
  for (const line of [
    "secret: process.env.SHOPIFY_CLIENT_SECRET ?? '',",
    'const token = process.env["SIGNALBOX_TOKEN"] || ""',
    'secret: environment.SIGNALBOX_FORWARDING_SECRET ?? ``',
    "export function createWebhook({ secret = '' }) {",
    'secret = os.environ.get("SECRET", "")',
    "token = os.getenv('TOKEN') or ''",
    "$secret = getenv( 'SECRET' ) ?: '';",
    "$secret = $_ENV['SECRET'] ?? '';",
    'token := os.Getenv("SIGNALBOX_TOKEN")',
  ]) {
    assert.equal(findFaults('', line).length, 1, line)
  }
  for (const line of [
    "secret: requireVariable('SHOPIFY_CLIENT_SECRET'),",
    'secret = process.env.SIGNALBOX_FORWARDING_SECRET,',
    'token = os.environ["SIGNALBOX_TOKEN"]',
    'if os.Getenv("SIGNALBOX_TOKEN") == "" {',
  ]) {
    assert.deepEqual(findFaults('', line), [], line)
  }
})
