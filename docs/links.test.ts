import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it } from 'node:test'

const root = join(import.meta.dirname, '..')
const isProjectFile = (path: string) => !/(^|\/)(node_modules|\.data|\.git)(\/|$)/.test(path)

const pages = globSync('**/*.md', { cwd: root, exclude: path => !isProjectFile(path) })
  .filter(isProjectFile)
  .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))

it('finds the entry pages', () => {
  const paths = pages.map(({ path }) => path)
  for (const page of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/filled-gaps.md']) {
    assert.ok(paths.includes(page), `${page} is missing`)
  }
})

it('every relative link leads to an existing file and heading', () => {
  const broken = pages.flatMap(page =>
    linksOf(page.text)
      .filter(target => !linkExists(page, target))
      .map(target => `${page.path}: ${target}`),
  )
  assert.deepEqual(broken, [])
})

it('the README leads to every page of the documentation', () => {
  const linked = linksOf(readFileSync(join(root, 'README.md'), 'utf8'))
  const documented = /^(docs\/(guides|operations|reference)\/|sdks\/\w+\/README|cli\/README)/
  const unlinked = pages
    .map(({ path }) => path)
    .filter(path => documented.test(path) && !linked.includes(path))
  assert.deepEqual(unlinked, [])
})

it('an event that an example sends has an ID of its own, so that none is a duplicate', () => {
  const sent = pages
    .filter(({ path }) => /^(README\.md|docs\/guides\/|clients\/|examples\/)/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/```\w*\n(.*?)```/gs)].flatMap(([, code = '']) =>
        [...code.matchAll(SENT_ID)].map(([, id = '']) => ({ path, id })),
      ),
    )
  const pagesOf = Map.groupBy(sent, ({ id }) => id)
  assert.ok(pagesOf.size >= 7, `${[...pagesOf.keys()]}`)
  const shared = [...pagesOf.values()].filter(uses => new Set(uses.map(use => use.path)).size > 1)
  assert.deepEqual(shared, [])
})

/** In JSON, TypeScript, Python, Go and on the command line. */
const SENT_ID = /(?:\bevent_?id['"]?: *|events create .*--id )['"]?([\w-]+)/gi

it('every npm script on a page is in package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const named = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\bnpm (?:run (?:--?s(?:ilent)? )?([\w:-]+)|(start|test)\b)/g)].map(
      ([, run, plain]) => ({ path, script: run ?? plain ?? '' }),
    ),
  )
  assert.ok(named.length > 10)
  const unknown = named.filter(({ script }) => !(script in scripts))
  assert.deepEqual(unknown, [])
})

it('every repository path in backticks exists', () => {
  const named = pages.flatMap(({ path, text }) =>
    repositoryPathsOf(text).map(name => ({ page: path, name })),
  )
  assert.ok(named.length > 50)
  const missing = named.filter(({ page, name }) => {
    const places = [root, join(root, 'service'), join(root, dirname(page))]
    return !places.some(place => existsSync(join(place, name)) || matches(place, name))
  })
  assert.deepEqual(missing, [])
})

it('the list of decisions has each one by its title', () => {
  const list = pages.find(({ path }) => path === 'docs/decisions/README.md')?.text ?? ''
  const rows = [...list.matchAll(/\((\d{4})-([\w-]+)\.md\) *\| (.+?) *\|$/gm)]
  const listed = rows.map(([, number = '', name = '', title = '']) => {
    return { path: `docs/decisions/${number}-${name}.md`, title: `# ${number}: ${title}` }
  })
  const written = pages
    .filter(({ path }) => /\/\d{4}-[\w-]+\.md$/.test(path))
    .map(({ path, text }) => ({ path, title: text.split('\n')[0] ?? '', text }))
    .sort((a, b) => a.path.localeCompare(b.path))
    .map(({ path, title, text }) => {
      const later = /^Superseded by \[(\d{4})\]/m.exec(text)?.[1]
      return { path, title: later ? `${title}; superseded by ${later}` : title }
    })
  assert.deepEqual(listed, written)
})

interface Page {
  path: string
  text: string
}

function linksOf(text: string): string[] {
  const prose = text.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter(target => !/^[a-z]+:/i.test(target))
}

function linkExists(page: Page, target: string): boolean {
  const [file = '', heading] = target.split('#')
  const path = file === '' ? page.path : join(dirname(page.path), decodeURI(file))
  if (!existsSync(join(root, path))) return false
  if (heading === undefined) return true
  const text = readFileSync(join(root, path), 'utf8')
  return [...text.matchAll(/^#+ (.+)$/gm)].some(([, words = '']) => slugOf(words) === heading)
}

/** The anchor that code hosts generate for a heading. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

/** The first folder of a path on a page. Modules of the service are named without `service/`. */
const FOLDERS = ['', 'service'].flatMap(place =>
  readdirSync(join(root, place), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
    .filter(isProjectFile),
)
const PATH = /^[\w.@-]+(?:\/[\w.@*{},-]+)*\/?$/

/** Texts in backticks that look like a path of the repository. */
function repositoryPathsOf(text: string): string[] {
  return [...text.replace(/```[\s\S]*?```/g, '').matchAll(/`([^`\s]+)`/g)]
    .map(([, name = '']) => name)
    .filter(name => name.includes('/') && PATH.test(name))
    .filter(name => FOLDERS.includes(name.split('/')[0] ?? '') && !name.includes('NNNN'))
}

function matches(place: string, pattern: string): boolean {
  return /[*{]/.test(pattern) && globSync(pattern, { cwd: place }).length > 0
}
