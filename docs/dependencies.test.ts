import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const rows = [
  ...read('docs/decisions/0002-dependencies.md').matchAll(/^\| `([^`]+)` +\|(.+)\|$/gm),
].map(([, name = '', rest = '']) => ({ name, cells: rest.split('|').map(cell => cell.trim()) }))

it('decision 0002 has exactly one row for every dependency', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json'))
  const declared = [...Object.keys(dependencies), ...Object.keys(devDependencies)]
  assert.deepEqual(rows.map(({ name }) => name).sort(), declared.sort())
})

it('each row has a purpose, alternatives, health and a license', () => {
  for (const { name, cells } of rows) {
    assert.equal(cells.length, 4, name)
    for (const cell of cells) assert.ok(cell, name)
  }
})

it('the license of each row is the license of the package', () => {
  for (const { name, cells } of rows) {
    const { license } = JSON.parse(read(`node_modules/${name}/package.json`))
    assert.equal(cells.at(-1), license, name)
  }
})

it('something imports or runs every dependency', () => {
  const sources = globSync('**/*.{ts,tsx,js}', {
    cwd: root,
    exclude: path => /(^|\/)(node_modules|dist\w*|\.data)(\/|$)/.test(path),
  })
  const text = sources.map(read).join('\n')
  const named = new Set(
    [...text.matchAll(/['"/]((?:@[\w-]+\/)?[\w.-]+)(?=['"/])/g)].map(hit => hit[1]),
  )
  const unused = rows
    .map(({ name }) => name)
    .filter(name => !/^@types\//.test(name) && !named.has(name))
  assert.deepEqual(unused, [])
})
