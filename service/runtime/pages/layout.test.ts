import assert from 'node:assert/strict'
import { it } from 'node:test'
import { errorSummary, textField } from './form-controls.ts'
import { renderPage } from './layout.ts'
import { pageHeaders } from './serve-pages.ts'

const HOSTILE = `"><img src=x onerror='alert(1)'>&amp;`

it('escapes user input in text and in attributes', () => {
  const errors = { name: HOSTILE }
  const documents = [
    renderPage({ title: HOSTILE, body: '', signedInAs: HOSTILE }),
    textField({ name: 'name', label: HOSTILE, value: HOSTILE, hint: HOSTILE, errors }),
    errorSummary({ name: HOSTILE, '': HOSTILE }),
  ]
  for (const text of documents) {
    assert.doesNotMatch(text, /<img|onerror='/)
    assert.match(text, /&#60;img/)
  }
})

it('associates a field with its label, hint and error', () => {
  const field = textField({ name: 'a', label: 'A', hint: 'Hint.', errors: { a: 'Wrong.' } })
  assert.match(field, /<label for="a">A<\/label>/)
  assert.match(field, /<input id="a"[^>]* aria-describedby="a-hint a-error" aria-invalid="true">/)
  assert.match(field, /id="a-hint">Hint\.</)
  assert.match(field, /id="a-error">Wrong\.</)
  assert.doesNotMatch(textField({ name: 'a', label: 'A' }), /aria-/)
})

it('allows form redirects only to the origins of the page', () => {
  const policy = (given = {}) => pageHeaders(given)['content-security-policy'] ?? ''
  assert.match(policy(), /form-action 'self'; /)
  const formTargets = ['https://client.example', 'cursor:']
  assert.match(policy({ formTargets }), /form-action 'self' https:\/\/client\.example cursor:; /)
})
