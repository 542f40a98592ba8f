import assert from 'node:assert/strict'
import { it } from 'node:test'
import { getMigrations } from 'better-auth/db/migration'
import { serviceUnderTest } from '../../testing/service-under-test.ts'
import { authOptions, createPasswordHash, isPasswordCorrect } from './auth-library.ts'

it('the library finds in our migrated tables everything that it wants', async test => {
  const { database, server, clock } = await serviceUnderTest(test)
  const { toBeCreated, toBeAdded } = await getMigrations({
    ...authOptions({
      ...{ database, logger: server.app.log, now: clock.now, secret: 'x'.repeat(64) },
      ...{ publicOrigin: 'http://127.0.0.1', social: {} },
      mailer: null as never,
    }),
    database: { db: database.query, type: 'postgres', schemaName: 'people' },
  })
  const described = (list: { table: string; fields: object }[]) =>
    list.map(({ table, fields }) => `${table}: ${Object.keys(fields)}`)
  assert.deepEqual(described(toBeCreated), [])
  assert.deepEqual(described(toBeAdded), [])
})

it('a password is kept as a slow, salted hash', async () => {
  const [one, two] = await Promise.all([createPasswordHash('same'), createPasswordHash('same')])
  assert.notEqual(one, two)
  assert.match(one, /^[0-9a-f]{32}:[0-9a-f]{128}$/)
  assert.ok(await isPasswordCorrect({ hash: one, password: 'same' }))
  assert.equal(await isPasswordCorrect({ hash: one, password: 'Same' }), false)
})

it('404 for every way into the library but the one back from a provider', async test => {
  const client = { clientId: 'id', clientSecret: 'secret' }
  const service = await serviceUnderTest(test, { social: { google: client, github: client } })
  const ways = ['/sign-in/email', '/sign-up/email', '/get-session', '/update-user', '/ok', '']
  for (const way of [...ways, '/reset-password', '/magic-link/verify?token=x', '/error']) {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${service.url}/auth${way}`, { method })
      assert.equal(response.status, 404, `${method} /auth${way}`)
    }
  }
})
