import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isHeldBy, taggedText } from './tagged-text.ts'

it('the tag is strong, in quotes, and another one for any other bytes', () => {
  const { text, etag } = taggedText('{"a":1}')
  assert.equal(text, '{"a":1}')
  assert.match(etag, /^"[\w-]{43}"$/)
  assert.equal(taggedText('{"a":1}').etag, etag)
  assert.notEqual(taggedText('{"a":1} ').etag, etag)
})

const TAG = '"YWJj-_8"'

const HELD = [
  TAG,
  `W/${TAG}`,
  '*',
  ' * ',
  `"other", ${TAG}`,
  `"other",W/${TAG},"third"`,
  `W/"a,b" , ${TAG}`,
  `\t${TAG} `,
  `, ,${TAG},`,
  `"", ${TAG}`,
]

const NOT_HELD = [
  undefined,
  '',
  '"other"',
  'YWJj-_8',
  '"YWJj-_8',
  '"YWJj-_9"',
  '"ywjj-_8"',
  '"*"',
  '**',
  `"x${TAG.slice(1)}`,
  '"a", "b"',
  `"${'x'.repeat(5_000)}"`,
]

it('finds the tag in a list, weak or strong, and takes * for any', () => {
  for (const header of HELD) assert.equal(isHeldBy(header, TAG), true, header)
  for (const header of NOT_HELD) assert.equal(isHeldBy(header, TAG), false, header)
})
