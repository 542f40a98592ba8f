import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/operations/threat-model.md'), 'utf8')

const TEST_LINE = /^ {2}- Test: `([^`]+\.test\.ts)`, "([^"]+)"$/gm

it('every threat names a test', () => {
  const threats = page.split(/^- \*\*/m).slice(1)
  assert.ok(threats.length > 40)
  const untested = threats.filter(threat => !/^ {2}- Test: /m.test(threat))
  assert.deepEqual(untested, [])
})

it('every named test exists under its title', () => {
  const named = [...page.matchAll(TEST_LINE)]
  assert.equal(named.length, page.match(/^ {2}- Test: /gm)?.length)
  const missing = named.filter(([, path = '', title = '']) => {
    if (!existsSync(join(root, path))) return true
    return !readFileSync(join(root, path), 'utf8').includes(`it('${title}'`)
  })
  assert.deepEqual(
    missing.map(([line]) => line.trim()),
    [],
  )
})
