import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { ROOT } from '../package/build-package.ts'
import { DISTRIBUTIONS, REPOSITORY } from './distributions.ts'

/** Packages of others that a page or a message tells people to install or to run, on purpose. */
const OF_OTHERS = {
  npm: ['node', 'wrangler'],
  pypi: [],
  go: [],
}
const OURS = {
  npm: [DISTRIBUTIONS.server, DISTRIBUTIONS.cli, DISTRIBUTIONS.typescript],
  pypi: [DISTRIBUTIONS.python],
  go: [DISTRIBUTIONS.go],
}
type Registry = keyof typeof OURS

/** What fetches a package by its name. The words after it are its arguments. */
const COMMANDS: readonly [registry: Registry, command: RegExp, isRun: boolean][] = [
  ['npm', /\b(?:npx|bunx|npm exec|(?:pnpm|yarn) dlx)((?: +[^\s`'"|;&)]+)+)/g, true],
  ['npm', /\b(?:npm (?:install|i|add)|(?:pnpm|yarn|bun) add)((?: +[^\s`'"|;&)]+)+)/g, false],
  ['pypi', /\b(?:uvx|pipx run)((?: +[^\s`'"|;&)]+)+)/g, true],
  ['pypi', /\b(?:pip3? install|pipx install|uv add)((?: +[^\s`'"|;&)]+)+)/g, false],
  ['go', /\bgo run((?: +[^\s`'"|;&)]+)+)/g, true],
  ['go', /\bgo (?:get|install)((?: +[^\s`'"|;&)]+)+)/g, false],
]
/** Ends the arguments in prose: "run npm install with optional dependencies". */
const PROSE = /^(a|after|again|and|for|from|in|is|of|on|or|that|the|then|to|which|with)$/
const FILE = /^\.{0,2}\/|^\.$|\.(tgz|whl)$/
const NAME = /^(@[\w.-]+\/)?[\w.-]+(\/[\w./-]+)?$/

/** The names that a text tells people to fetch, apart from files and options. */
function findNames(text: string): { registry: Registry; name: string }[] {
  return COMMANDS.flatMap(([registry, command, isRun]) =>
    [...text.matchAll(command)].flatMap(([, words = '']) => {
      const given = words.trim().split(/ +/)
      const end = given.findIndex(word => PROSE.test(word))
      const listed = given.slice(0, end === -1 ? undefined : end).filter(word => !/^-/.test(word))
      const named = (isRun ? listed.slice(0, 1) : listed).filter(word => !FILE.test(word))
      return named.map(word => ({ registry, name: word.replace(/(?<=.)(@|==)[^/]*$/, '') }))
    }),
  )
}

function listPages(): string[] {
  const patterns = ['*.md', '*.txt', 'dashboard/src', 'clients/cli/src', 'service']
  const listed = execFileSync('git', ['ls-files', '-z', ...patterns], { cwd: ROOT })
  return listed
    .toString()
    .split('\0')
    .filter(path => path !== '' && !SKIPPED.test(path))
}

/** Requirements of tests, vectors and the tests themselves are no pages. */
const SKIPPED = /\.test\.tsx?$|(^|\/)(vectors|requirements)\/|requirements.*\.txt$|\.sql$/

it('no page or message tells anyone to fetch a name that is neither ours nor on the list', () => {
  const strangers = listPages().flatMap(path =>
    findNames(readFileSync(join(ROOT, path), 'utf8'))
      .filter(({ name }) => NAME.test(name))
      .filter(({ registry, name }) => !isKnown(registry, name))
      .map(({ registry, name }) => `${path}: ${name} (${registry})`),
  )
  assert.deepEqual(strangers, [])
})

function isKnown(registry: Registry, name: string): boolean {
  return [...OURS[registry], ...OF_OTHERS[registry]].some(known => known === name)
}

it('finds the names in commands as people write them', () => {
  const found = (text: string) => findNames(text).map(({ name }) => name)
  assert.deepEqual(found('`npx --yes signalbox-servers all`'), ['signalbox-servers'])
  assert.deepEqual(found('pip install signalbox==0.3'), ['signalbox'])
  assert.deepEqual(found('npm install ./signalbox-server-0.5.0.tgz'), [])
  assert.deepEqual(found('npm i --save @acme/sdk@1.2.3 left'), ['@acme/sdk', 'left'])
  assert.deepEqual(found('go get github.com/signalbox/signalbox-go@latest'), [
    'github.com/signalbox/signalbox-go',
  ])
})

it('the page of the npm package installs it before it runs its command', () => {
  const page = readFileSync(join(ROOT, 'deploy/package/package-readme.md'), 'utf8')
  const installed = page.indexOf(`npm install ${DISTRIBUTIONS.server}\n`)
  assert.ok(installed !== -1 && installed < page.indexOf(`npx ${DISTRIBUTIONS.server}`))
})

it('every manifest has the name and the repository of its distribution', () => {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
  assert.match(read('clients/sdks/go/go.mod'), new RegExp(`^module ${DISTRIBUTIONS.go}$`, 'm'))
  const python = read('clients/sdks/python/pyproject.toml')
  assert.match(python, new RegExp(`^name = "${DISTRIBUTIONS.python}"$`, 'm'))
  assert.ok(python.includes(`Source = "${REPOSITORY}"`))
  assert.ok(DISTRIBUTIONS.go.startsWith(`${REPOSITORY.slice('https://'.length)}/`))
  const server = JSON.parse(read('deploy/mcp/server.json')).name
  assert.equal(server, REPOSITORY.replace(/^https:\/\/github.com\/([^/]+)/, 'io.github.$1'))
})

it('no file names the repository of a stranger', () => {
  const args = [
    'grep',
    '-lE',
    '(github\\.com/|io\\.github\\.)signalbox/',
    '--',
    '.',
    ':!deploy/release/*',
  ]
  let found = ''
  try {
    found = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  } catch {
    // git exits with 1 when nothing matches.
  }
  assert.deepEqual(found.trim().split('\n').filter(Boolean), ['docs/decisions/0054-releases.md'])
})
