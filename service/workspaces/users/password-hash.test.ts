import assert from 'node:assert/strict'
import { randomBytes, scryptSync } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { it } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'
import {
  createPasswordHash,
  isPasswordCorrect,
  isPasswordHashOutdated,
  PASSWORD_COST,
} from './password-hash.ts'
import { findPasswordHash, setPassword } from './user-store.ts'

it('stores passwords as salted scrypt hashes at a cost that OWASP lists', async () => {
  const [one, two] = await Promise.all([createPasswordHash('same'), createPasswordHash('same')])
  assert.notEqual(one, two)
  assert.match(one, /^\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{86}$/)
  assert.ok(await isPasswordCorrect({ hash: one, password: 'same' }))
  assert.equal(await isPasswordCorrect({ hash: one, password: 'Same' }), false)
  assert.equal(isPasswordHashOutdated(one), false)
})

it('accepts a composed and a decomposed accent as the same password', async () => {
  const hash = await createPasswordHash('caf\u00e9 au lait')
  assert.ok(await isPasswordCorrect({ hash, password: 'cafe\u0301 au lait' }))
})

it('leaves threads to other work while many passwords are hashed', async () => {
  const ended: string[] = []
  const hashes = Array.from({ length: 6 }, () =>
    createPasswordHash('same').then(() => ended.push('hash')),
  )
  await stat(import.meta.filename)
  ended.push('file')
  await Promise.all(hashes)
  assert.deepEqual(ended, ['file', ...Array(6).fill('hash')])
})

it('rejects a hash of an unknown format', async () => {
  for (const hash of ['', 'plain', '$scrypt$ln=15,r=8,p=3$salt$short', '$argon2id$v=19$m=1$a$b']) {
    await assert.rejects(isPasswordCorrect({ hash, password: 'x' }), /no known format/)
  }
})

it('opens an account with a hash of version 0.5.0 and replaces the hash at sign-in', async test => {
  const service = await startTestService(test, { passwordCost: PASSWORD_COST })
  const { database, clock } = service
  const { userId, email } = await createTestUser(service)
  const earlier = createEarlierHash(TEST_PASSWORD)
  await setPassword(database, userId, { passwordHash: earlier, at: clock.now() })
  const client = new PageClient(service.url)
  const wrong = await client.post('/sign-in', { email, password: 'not the password' })
  assert.equal(wrong.status, 401)
  assert.equal(await findPasswordHash(database, userId), earlier)
  for (let count = 0; count < 2; count += 1) {
    const page = await client.post('/sign-in', { email, password: TEST_PASSWORD })
    assert.equal(page.path, '/workspaces')
  }
  const renewed = (await findPasswordHash(database, userId)) ?? ''
  assert.match(renewed, /^\$scrypt\$ln=15,/)
  assert.ok(await isPasswordCorrect({ hash: renewed, password: TEST_PASSWORD }))
})

/** As better-auth wrote it: the salt is hexadecimal text. */
function createEarlierHash(password: string): string {
  const salt = randomBytes(16).toString('hex')
  const options = { N: 16_384, r: 16, p: 1, maxmem: 67_108_864 }
  return `${salt}:${scryptSync(password, salt, 64, options).toString('hex')}`
}
