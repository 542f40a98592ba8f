import assert from 'node:assert/strict'
import { it } from 'node:test'
import { escapeInvisible, escapeInvisibleLine } from './src/components/visible-text.ts'

it('replaces invisible and direction characters with their code point', () => {
  assert.equal(escapeInvisible('invoice\u202Egpj.exe'), 'invoice[U+202E]gpj.exe')
  assert.equal(
    escapeInvisible('a\u200Bb\uFEFFc\u0000d\u2066e'),
    'a[U+200B]b[U+FEFF]c[U+0000]d[U+2066]e',
  )
  assert.equal(escapeInvisible('\u{E0041}\u{E0042}'), '[U+E0041][U+E0042]')
  assert.equal(escapeInvisible('\uD800'), '[U+D800]')
})

it('keeps scripts and emoji unchanged', () => {
  for (const text of ['Zürich', 'می\u200Cخواهم', '👩\u200D👧 قميص', 'חולצה', '日本', 'e\u0301']) {
    assert.equal(escapeInvisible(text), text)
  }
})

it('normalizes line breaks and collapses empty lines', () => {
  assert.equal(escapeInvisible('a\r\nb\rc\u2028d'), 'a\nb\nc\nd')
  assert.equal(escapeInvisible(`a${'\n'.repeat(50)}b`), 'a\n\nb')
})

it('truncates to one line without splitting a character', () => {
  assert.equal(escapeInvisibleLine(' a\n\n b\tc '), 'a b c')
  assert.equal(escapeInvisibleLine('👩'.repeat(4), 3), `${'👩'.repeat(3)}…`)
})
