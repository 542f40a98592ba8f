import assert from 'node:assert/strict'
import { it } from 'node:test'
import { NAVIGATION } from '@signalbox/design/navigation.ts'
import { workspaceNavigation } from './navigation.ts'

const HOSTILE = `"><img src=x onerror='alert(1)'>`
const ENTRIES = NAVIGATION
const current = ENTRIES.find(({ label }) => label === 'Policy')
const shop = { workspaceId: 7, workspaceName: 'Shop', entries: ENTRIES, current }

it('links every entry in the workspace and marks the current one', () => {
  const text = workspaceNavigation({ ...shop, pendingApprovals: 0 })
  for (const { path, label } of ENTRIES) {
    assert.match(text, new RegExp(`href="${path.replace(':workspace', '7')}"[^>]*>${label}`))
  }
  assert.match(text, /href="\/w\/7\/policy" aria-current="page">Policy/)
  assert.equal(text.match(/aria-current="page"/g)?.length, 1)
  assert.match(text, /<li><a href="[^"]*"\s+aria-current="true">Agents/)
  assert.doesNotMatch(text, /class="count"/)
})

it('counts the pending approvals, at most 99', () => {
  const count = (pendingApprovals: number) =>
    /class="count">([^<]*)</.exec(workspaceNavigation({ ...shop, pendingApprovals }))?.[1]
  assert.equal(count(3), '3')
  assert.equal(count(99), '99')
  assert.equal(count(100), '99+')
})

it('leaves out what the role may not open, and escapes the name', () => {
  const entries = ENTRIES.filter(({ roles }) => roles === undefined)
  const text = workspaceNavigation({
    ...shop,
    workspaceName: HOSTILE,
    entries,
    pendingApprovals: 0,
  })
  assert.doesNotMatch(text, /tokens|<img/)
})
