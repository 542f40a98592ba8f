import assert from 'node:assert/strict'
import { it } from 'node:test'
import { getMigrations } from 'better-auth/db/migration'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { authOptions } from './auth-library.ts'
import { PASSWORD_COST } from './password-hash.ts'
import { withHashedSessionTokens } from './session-token.ts'

it('provides every table and column that the sign-in library requires', async test => {
  const { database, server, clock } = await startTestService(test)
  const { toBeCreated, toBeAdded } = await getMigrations({
    ...authOptions({
      database,
      logger: server.app.log,
      now: clock.now,
      secret: 'x'.repeat(64),
      publicOrigin: 'http://127.0.0.1',
      social: {},
      signUp: { mode: 'open', domains: [] },
      mailer: null as never,
      passwordCost: PASSWORD_COST,
    }),
    database: { db: database.query, type: 'postgres', schemaName: 'people' },
  })
  const described = (list: { table: string; fields: object }[]) =>
    list.map(({ table, fields }) => `${table}: ${Object.keys(fields)}`)
  assert.deepEqual(described(toBeCreated), [])
  assert.deepEqual(described(toBeAdded), [])
})

it('returns 404 for every library route except the provider callback', async test => {
  const client = { clientId: 'id', clientSecret: 'secret' }
  const service = await startTestService(test, { social: { google: client, github: client } })
  const ways = ['/sign-in/email', '/sign-up/email', '/get-session', '/update-user', '/ok', '']
  for (const way of [...ways, '/reset-password', '/magic-link/verify?token=x', '/error']) {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${service.url}/auth${way}`, { method })
      assert.equal(response.status, 404, `${method} /auth${way}`)
    }
  }
})

it('refuses a library whose adapter has a method that could store tokens as they are', () => {
  const create = async () => null
  const known = { id: 'kysely', create, transaction: create, createSchema: create, options: {} }
  assert.equal(typeof withHashedSessionTokens(known, String), 'object')
  const later = { ...known, upsert: create }
  assert.throws(() => withHashedSessionTokens(later, String), /as they are: upsert\. Install/)
})
