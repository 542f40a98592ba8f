import assert from 'node:assert/strict'
import { it } from 'node:test'
import { safeReturnPath } from './form-body.ts'

it('keeps paths of this site with query and fragment', () => {
  for (const path of [
    '/',
    '/account',
    '/workspaces/1/people?done=x',
    '/oauth2/interaction/a-b_C#d',
  ]) {
    assert.equal(safeReturnPath(path), path)
  }
})

it('returns the fallback for anything that a browser could read as another site', () => {
  const elsewhere = [
    ...['https://evil.example/', '//evil.example', '///evil.example', '/\\evil.example'],
    ...['\\\\evil.example', '/\t/evil.example', '/\n/evil.example', ' /account', '', 'account'],
    ...['javascript:alert(1)', 'http:/evil.example', '/..//evil.example', '/a\\..\\..\\evil'],
    ...['/%5c\u0000', `/${'a'.repeat(2_000)}`, '/é', '/./\\evil.example', '/a/..//evil.example'],
  ]
  for (const given of [...elsewhere, undefined, null, ['/account'], 1]) {
    assert.equal(safeReturnPath(given), '/workspaces', String(given))
  }
})
