import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const PAGES = ['docs/changes.md', 'AGENTS.md', 'CONTRIBUTING.md']

for (const page of PAGES) {
  it(`${page} names files and folders that exist`, () => {
    const named = [...read(page).matchAll(/`([\w.-]+\/[\w./-]+)`/g)].map(([, path = '']) => path)
    assert.ok(named.length > 1)
    const missing = named.filter(path => !/NAME|NNNN/.test(path) && !existsSync(join(root, path)))
    assert.deepEqual(missing, [])
  })
}

it('names only scripts that package.json has', () => {
  const scripts = JSON.parse(read('package.json')).scripts
  const named = PAGES.flatMap(page => [...read(page).matchAll(/npm run ([\w:]+)/g)])
  assert.ok(named.length > 10)
  assert.deepEqual(
    named.map(([, name = '']) => name).filter(name => !Object.hasOwn(scripts, name)),
    [],
  )
})

it('CONTRIBUTING links each of the ten changes', () => {
  const titles = [...read('docs/changes.md').matchAll(/^## (.*)$/gm)].map(([, title = '']) => title)
  assert.equal(titles.length, 10)
  const linked = [...read('CONTRIBUTING.md').matchAll(/docs\/changes\.md#([\w-]+)/g)]
  assert.deepEqual(
    linked.map(([, anchor = '']) => anchor),
    titles.map(title => title.toLowerCase().replaceAll(' ', '-')),
  )
})

it('AGENTS.md fits on a screen', () => {
  assert.ok(read('AGENTS.md').split('\n').length <= 61)
})
