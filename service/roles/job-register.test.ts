import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { periodSecondsOf } from '../jobs/schedule.ts'
import { type JobParts, jobRegister } from './job-register.ts'

const jobs = jobRegister({ settings: {}, delivery: {} } as JobParts)

it('each job has a name of its own, a schedule that can be kept, and ends within it', () => {
  assert.equal(new Set(jobs.map(({ name }) => name)).size, jobs.length)
  for (const { name, schedule, secondsMax } of jobs) {
    assert.match(name, /^[a-z]+(-[a-z]+)*$/)
    if (schedule !== null) assert.ok(secondsMax < periodSecondsOf(schedule), name)
  }
})

it('the page names each job and no other', () => {
  const path = join(import.meta.dirname, '../../docs/operations/running.md')
  const [, part = ''] = readFileSync(path, 'utf8').split('\n## Jobs\n')
  const [table = ''] = part.split('\n- ')
  const named = [...table.matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name)
  assert.deepEqual(named.toSorted(), jobs.map(({ name }) => name).toSorted())
})
