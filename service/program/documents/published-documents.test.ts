import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formatSecurityTxt, isEtagMatch, withEtag } from './published-documents.ts'

const page = (at: string) =>
  formatSecurityTxt({
    contact: 'mailto:security@shop.example',
    origin: 'https://events.shop.example',
    at: new Date(at),
  })

it('contains the contact, the expiry and the canonical URL', () => {
  assert.equal(
    page('2026-11-21T12:34:56.789Z'),
    'Contact: mailto:security@shop.example\n' +
      'Expires: 2027-05-20T00:00:00.000Z\n' +
      'Canonical: https://events.shop.example/.well-known/security.txt\n',
  )
})

it('does not change during a day, and expires within a year, as RFC 9116 recommends', () => {
  assert.equal(page('2026-11-21T00:00:00.000Z'), page('2026-11-21T23:59:59.999Z'))
  assert.notEqual(page('2026-11-21T23:59:59.999Z'), page('2026-11-22T00:00:00.000Z'))
  const [, expires = ''] = /^Expires: (.+)$/m.exec(page('2027-12-31T23:59:59.999Z')) ?? []
  const days = (Date.parse(expires) - Date.parse('2027-12-31T23:59:59.999Z')) / 86_400_000
  assert.ok(days > 170 && days < 365)
})

it('creates a strong, quoted ETag that changes with the content', () => {
  const { text, etag } = withEtag('{"a":1}')
  assert.equal(text, '{"a":1}')
  assert.match(etag, /^"[\w-]{43}"$/)
  assert.equal(withEtag('{"a":1}').etag, etag)
  assert.notEqual(withEtag('{"a":1} ').etag, etag)
})

const TAG = '"YWJj-_8"'

const MATCHING = [
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

const OTHER = [
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

it('matches weak and strong tags in a list, and *', () => {
  for (const header of MATCHING) assert.equal(isEtagMatch(header, TAG), true, header)
  for (const header of OTHER) assert.equal(isEtagMatch(header, TAG), false, header)
})
