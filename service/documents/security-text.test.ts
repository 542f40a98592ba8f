import assert from 'node:assert/strict'
import { it } from 'node:test'
import { securityText } from './security-text.ts'

const page = (at: string) =>
  securityText({
    contact: 'mailto:security@shop.example',
    origin: 'https://events.shop.example',
    at: new Date(at),
  })

it('says where to report, until when it is to be believed, and where it belongs', () => {
  assert.equal(
    page('2026-11-21T12:34:56.789Z'),
    'Contact: mailto:security@shop.example\n' +
      'Expires: 2027-05-20T00:00:00.000Z\n' +
      'Canonical: https://events.shop.example/.well-known/security.txt\n',
  )
})

it('is the same all day, and expires in less than a year, as RFC 9116 advises', () => {
  assert.equal(page('2026-11-21T00:00:00.000Z'), page('2026-11-21T23:59:59.999Z'))
  assert.notEqual(page('2026-11-21T23:59:59.999Z'), page('2026-11-22T00:00:00.000Z'))
  const [, expires = ''] = /^Expires: (.+)$/m.exec(page('2027-12-31T23:59:59.999Z')) ?? []
  const days = (Date.parse(expires) - Date.parse('2027-12-31T23:59:59.999Z')) / 86_400_000
  assert.ok(days > 170 && days < 365)
})
