import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')

it('ARCHITECTURE.md names every folder of the repository, and no other', () => {
  const folders = readdirSync(root, { withFileTypes: true })
    .filter(entry => entry.isDirectory() && /^(?!node_modules$)[^.]/.test(entry.name))
    .map(({ name }) => name)
  const named = [...page.matchAll(/^\| `([\w-]+)\/`/gm)].map(([, name = '']) => name)
  assert.deepEqual(named.sort(), folders.sort())
})

it('ARCHITECTURE.md names every module of the service, and every file beside them', () => {
  const [, rooms = ''] = page.split('## Rooms')
  const [table = ''] = rooms.split('A file name announces')
  const missing = readdirSync(join(root, 'service'))
    .filter(name => !/\.test\.ts$|^(package\.json|README\.md)$/.test(name))
    .filter(name => !table.includes(`\`${name}\``))
  assert.deepEqual(missing, [])
})
