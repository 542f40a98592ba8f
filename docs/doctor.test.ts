import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const FILES = 'service/program/{doctor/*-checks,doctor/run-doctor,roles/doctor-command}.ts'
const NAME = /'((?:settings|data_folder|network|store|replica|keys|delivery|jobs|platform)\.\w+)'/g

it('the page of the doctor lists exactly its checks, and the checklist names only these', () => {
  const page = read('docs/operations/doctor.md')
  const listed = [...page.matchAll(/^\| `(\w+\.\w+)` +\|/gm)].map(([, name]) => name)
  const source = globSync(FILES, { cwd: root }).map(read).join('\n')
  const checks = new Set([...source.matchAll(NAME)].map(([, name]) => name))
  assert.deepEqual(listed.toSorted(), [...checks].sort())
  const [table = ''] =
    /^\| Step .+(?:\n\|.+)+/m.exec(read('docs/operations/production-checklist.md')) ?? []
  const named = [...table.matchAll(/`(\w+\.\w+)`/g)].map(([, name = '']) => name)
  assert.ok(named.length > 20)
  assert.deepEqual(
    named.filter(name => !checks.has(name)),
    [],
  )
})
