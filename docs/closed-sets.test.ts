import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { AUDIT_ACTIONS } from '../contract/agents/audit-actions.ts'
import { PROBLEM_KINDS, WORKSPACE_ALERT_KINDS } from '../contract/alerts.ts'
import { SNAPSHOT_CAUSES } from '../contract/reasons.ts'

/** Pages that list a closed set of the code list exactly its members. */

it('the page about the audit log lists every action, once', () => {
  const listed = codesBelow('operations/audit.md', '## Entries')
  assert.deepEqual(listed.sort(), [...AUDIT_ACTIONS].sort())
})

it('the page about notifications lists every kind of alert', () => {
  const listed = codesBelow('operations/notifications.md', '## Alerts').flatMap(
    code => /^alert\.(\w+)\.raised$/.exec(code)?.[1] ?? [],
  )
  assert.deepEqual(listed.sort(), [...PROBLEM_KINDS, ...WORKSPACE_ALERT_KINDS].sort())
})

it('the page about match quality explains every cause of a missing snapshot', () => {
  const listed = codesBelow('operations/match-quality.md', '## No snapshot')
  const causes = listed.filter(code => !/[A-Z ]/.test(code) && code !== 'ads_read')
  assert.deepEqual(causes.sort(), [...SNAPSHOT_CAUSES].sort())
})

/** The codes in the first table after a heading. */
function codesBelow(path: string, heading: string): string[] {
  const page = readFileSync(join(import.meta.dirname, path), 'utf8')
  const [, part = ''] = page.split(`${heading}\n`)
  const table = /(?:^\|.*\|\n)+/m.exec(part)?.[0] ?? ''
  return [...table.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
}
