import assert from 'node:assert/strict'
import { it } from 'node:test'
import { escapeInvisible, escapeInvisibleLine } from './untrusted-text.ts'

it('writes what hides or turns text around as its number', () => {
  assert.equal(escapeInvisible('invoice\u202Egpj.exe'), 'invoice[U+202E]gpj.exe')
  assert.equal(
    escapeInvisible('a\u200Bb\uFEFFc\u0000d\u2066e'),
    'a[U+200B]b[U+FEFF]c[U+0000]d[U+2066]e',
  )
  assert.equal(escapeInvisible('\u{E0041}\u{E0042}'), '[U+E0041][U+E0042]')
  assert.equal(escapeInvisible('\uD800'), '[U+D800]')
})

it('leaves scripts and emoji as they are', () => {
  for (const text of ['Zürich', 'می\u200Cخواهم', '👩\u200D👧 قميص', 'חולצה', '日本', 'e\u0301']) {
    assert.equal(escapeInvisible(text), text)
  }
})

it('keeps line breaks of every kind, and no more than one empty line', () => {
  assert.equal(escapeInvisible('a\r\nb\rc\u2028d'), 'a\nb\nc\nd')
  assert.equal(escapeInvisible(`a${'\n'.repeat(50)}b`), 'a\n\nb')
})

it('a line is one line, and is not cut within a character', () => {
  assert.equal(escapeInvisibleLine(' a\n\n b\tc '), 'a b c')
  assert.equal(escapeInvisibleLine('👩'.repeat(4), 3), `${'👩'.repeat(3)}…`)
})
