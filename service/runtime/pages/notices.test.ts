import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Notices } from './notices.ts'

const NOTICES = new Notices({ saved: 'It is saved.', removed: 'It is removed.' })

it('finds the notice that a redirect named', () => {
  const url = new URL(NOTICES.addTo('/account', 'saved'), 'http://ours.invalid')
  assert.equal(url.pathname, '/account')
  assert.equal(NOTICES.find(Object.fromEntries(url.searchParams)), 'It is saved.')
})

it('shows nothing for any other code', () => {
  for (const done of ['', 'Saved', 'toString', '__proto__', 'constructor', ['saved'], null, 1]) {
    assert.equal(NOTICES.find({ done }), undefined, String(done))
  }
  for (const query of [undefined, null, {}, 'done=saved']) {
    assert.equal(NOTICES.find(query), undefined)
  }
})

it('does not type-check a redirect with a misspelled code', () => {
  // @ts-expect-error There is no such notice.
  const path = NOTICES.addTo('/account', 'save')
  assert.equal(NOTICES.find({ done: path.split('=')[1] }), undefined)
})
