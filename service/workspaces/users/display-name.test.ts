import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, findEmailedLink, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'
import { parseDisplayName, parseNameWithoutLinks } from './user-input.ts'

const LINKS = [
  ...['visit evil.example NOW', 'https://evil', 'http:\u2044\u2044evil.example', 'www.evil'],
  ...['evil。example', 'evil．example', 'evil｡example', 'EVIL.EXAMPLE', 'bücher.example'],
  ...['ada@evil.example', 'javascript://x', '10.0.0.1', 'call tel:+4912345'],
]
const INVISIBLE = [
  ...['', '   ', 'a\nb', 'a\0b', 'a\u202eb', 'a\u200bb', 'a\u2066b', 'A\ufeffda', 'a\u2028b'],
  ...['\u3164', '\u2800\u2800', 'Ada\u115f', 'a\u034fb', '\u{e0041}', '\ud800', 'a\u00adb'],
  ...['...', '—', 'a\u200db', 'a\u200cb'],
]
const NAMES = [
  ...['Ada', 'Grace B. Hopper', "O'Brien", 'J.R.R. Tolkien', 'Müller GmbH & Co. KG', 'Shop 2.0'],
  ...['Отчёты', 'レポート', '报告', 'تقارير', 'علی‌رضا', 'क्‍ष', 'Łódź', 'A/B Test', 'Ph.D', 'Ada!'],
  ...['Shop EU: live', 'e.K.', '3.5 %'],
]

it('accepts names of every script', () => {
  for (const name of NAMES) assert.equal(parseNameWithoutLinks(name, 100), name.normalize('NFC'))
  assert.equal(parseDisplayName('\u00a0My\u3000 shop ', 100), 'My shop')
  assert.equal(parseDisplayName('Cafe\u0301', 100), 'Café')
  assert.equal(parseDisplayName('Shop ❤\ufe0f', 100), 'Shop ❤')
})

it('refuses invisible names, hidden characters and names that are too long', () => {
  for (const name of INVISIBLE) assert.equal(parseDisplayName(name, 100), null, escapeText(name))
  for (const name of [...LINKS, ...INVISIBLE]) {
    assert.equal(parseNameWithoutLinks(name, 100), null, escapeText(name))
  }
  assert.equal(parseDisplayName('x'.repeat(101), 100), null)
  assert.equal(parseDisplayName(7, 100), null)
})

it('returns 422 for a name with a link, of a person and of a workspace', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  for (const name of ['visit evil.example NOW', '\u3164']) {
    const fields = { name, email: 'new@people.example', password: TEST_PASSWORD }
    const page = await new PageClient(service.url).post('/sign-up', fields)
    assert.equal(page.status, 422, escapeText(name))
    assert.match(page.text, /without links/)
    const body = { name }
    const created = await client.call('POST', `${SESSION_API_PATH}/workspaces`, { body })
    assert.equal(created.status, 422, escapeText(name))
    assert.match(created.body.errors.name[0], /without links/)
  }
  assert.equal(service.mails.length, 0)
})

it('sends no stored name with a link', async test => {
  const service = await startTestService(test)
  const { email, userId, client } = await createTestUser(service)
  const { body } = await client.call('POST', `${SESSION_API_PATH}/workspaces`, {
    body: { name: 'Shop' },
  })
  const { pool } = service.database
  const evil = 'visit evil.example NOW'
  await pool.query('update people.users set name = $1 where id = $2', [evil, userId])
  await pool.query('update workspaces set name = $1 where id = $2', [evil, body.id])
  const path = `${SESSION_API_PATH}/workspaces/${body.id}/invitations`
  const invitation = { email: 'guest@people.example', role: 'member' }
  assert.equal((await client.call('POST', path, { body: invitation })).status, 201)
  await new PageClient(service.url).post('/forgot', { email })
  assert.equal(service.mails.length, 2)
  for (const mail of service.mails) assert.doesNotMatch(`${mail.subject} ${mail.text}`, /evil/)
  assert.match(findEmailedLink(service.mails, email, '/reset'), /token=/)
  assert.match(service.mails[0]?.text ?? '', /A member invites you to a workspace as member\./)
})

function escapeText(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[^ -~]/gu,
    character => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
