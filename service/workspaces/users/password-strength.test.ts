import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, findEmailedLink, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'
import { findPasswordError } from './password-strength.ts'

const OWNER = { email: 'ada.lovelace@shop.example', name: 'Ada Lovelace' }
const STRONG = 'plum anvil teacup'

it('refuses common passwords and their usual variations', async () => {
  const common = ['password1234', 'Password123!', 'P@ssw0rd2024', '1234567890', 'qwertyuiop1']
  const more = ['1q2w3e4r5t6y', 'iloveyou123', 'football2024', 'letmein12345', 'aaaaaaaaaaaa']
  for (const password of [...common, ...more, 'dragondragon', 'qazwsxedcrfv', 'abcdefghijkl']) {
    assert.match((await findPasswordError(password, OWNER)) ?? '', /easy to guess/, password)
  }
})

it('refuses the address and the name of the person, alone and with additions', async () => {
  const personal = ['ada.lovelace@shop.example', 'x ADA.LOVELACE@shop.example y', 'ada.lovelace1']
  for (const password of [...personal, 'AdaLovelace', 'Ada Lovelace', 'lovelace2026']) {
    assert.match((await findPasswordError(password, OWNER)) ?? '', /name or email/, password)
  }
})

it('accepts words, random characters and passwords in any script', async () => {
  for (const password of [
    TEST_PASSWORD,
    STRONG,
    'kT9#vB2mQx',
    'лошадь скрепка',
    '正しい馬の電池とホチキス',
  ]) {
    assert.equal(await findPasswordError(password, OWNER), null, password)
  }
})

it('refuses a common password at sign-up, at a change and at a reset', async test => {
  const service = await startTestService(test)
  const { client, email } = await createTestUser(service)
  const visitor = new PageClient(service.url)
  const fields = { name: 'Grace', email: 'grace@people.example', password: 'Password123!' }
  const signUp = await visitor.post('/sign-up', fields)
  const change = await client.post('/account/password', {
    current: TEST_PASSWORD,
    password: 'Password123!',
  })
  await visitor.post('/forgot', { email })
  await visitor.get(findEmailedLink(service.mails, email, '/reset'))
  const reset = await visitor.submit({ fields: { password: 'Password123!' } })
  for (const page of [signUp, change, reset]) {
    assert.equal(page.status, 422)
    assert.match(page.text, /This password is easy to guess/)
  }
  assert.equal((await visitor.submit({ fields: { password: STRONG } })).status, 200)
})

it("refuses the person's own address at a reset by email and keeps the link", async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  const client = new PageClient(service.url)
  await client.post('/forgot', { email })
  const link = findEmailedLink(service.mails, email, '/reset')
  await client.get(link)
  const page = await client.submit({ fields: { password: email } })
  assert.equal(page.status, 422)
  assert.match(page.text, /Do not use your name or email address/)
  await client.get(link)
  assert.match((await client.submit({ fields: { password: STRONG } })).text, /Password changed/)
})

it('returns 400 for an unknown reset link', async test => {
  const service = await startTestService(test)
  const page = await new PageClient(service.url).post('/reset', {
    token: 'unknown',
    password: STRONG,
  })
  assert.equal(page.status, 400)
})
