import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { TEST_PASSWORD } from '../../../testing/fixtures/users.ts'
import { parseEmailAddress } from './user-input.ts'

const ODD = [
  ...["o'hara@people.example", 'a+b@people.example', 'a_b@people.example', '-a@people.example'],
  ...['a-@people.example', '1@2.example', 'a@b-.example', 'a@b--c.example', 'a.b.c@d.e.example'],
]

it('accepts no email address that the sign-in library rejects', async test => {
  const service = await startTestService(test)
  for (const email of ODD) {
    assert.equal(parseEmailAddress(email), email)
    const client = new PageClient(service.url)
    const fields = { name: 'Odd', email, password: TEST_PASSWORD }
    for (const path of ['/sign-up', '/forgot', '/magic', '/verify/ask']) {
      assert.equal((await client.post(path, fields)).status, 200, `${path} ${email}`)
    }
    assert.equal((await client.post('/sign-in', fields)).status, 401, email)
  }
  assert.equal(service.mails.length, ODD.length * 4)
})
