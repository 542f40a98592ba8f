import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { it } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import { openDatabase } from './database.ts'
import { isStoreUnavailable } from './database-errors.ts'

function withCode(code: string): Error {
  return Object.assign(new Error('something about the store'), { code })
}

const PASSING = {
  ECONNREFUSED: 'no listener',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke while writing',
  ETIMEDOUT: 'no answer from the network',
  ENOTFOUND: 'the name is unknown for now',
  EAI_AGAIN: 'the name server is away',
  EHOSTUNREACH: 'no way to the host',
  ENETUNREACH: 'no way to the network',
  '08006': 'connection failure',
  '53100': 'disk full',
  '53300': 'too many connections',
  '57P01': 'admin shutdown',
  '57P03': 'still starting',
  '57014': 'the statement took too long',
  '58030': 'input or output error',
  '25006': 'a standby that is not promoted yet',
}

const LASTING = {
  '23505': 'unique violation',
  '23514': 'check violation',
  '22P02': 'text that is no uuid',
  '22021': 'a NUL in a text',
  '42P01': 'no such table',
  '40P01': 'a dead-lock that took one victim',
  '57000': 'operator intervention of no known kind',
  ENOENT: 'a file',
  FST_ERR_CTP_BODY_TOO_LARGE: 'a code of another library',
}

for (const [code, meaning] of Object.entries(PASSING)) {
  it(`${code} passes by itself: ${meaning}`, () => {
    assert.equal(isStoreUnavailable(withCode(code)), true)
  })
}

for (const [code, meaning] of Object.entries(LASTING)) {
  it(`${code} does not pass by waiting: ${meaning}`, () => {
    assert.equal(isStoreUnavailable(withCode(code)), false)
  })
}

it('knows what Citus says about a node that went away, from its other internal errors', () => {
  const internal = (sentence: string) => Object.assign(new Error(sentence), { code: 'XX000' })
  const away = internal('failure on connection marked as essential: 127.0.0.1:5602')
  assert.equal(isStoreUnavailable(away), true)
  assert.equal(isStoreUnavailable(internal('operation is not allowed on this node')), false)
})

it('takes nothing but errors for a sign', () => {
  for (const value of [undefined, null, 'ECONNREFUSED', { code: '08006' }, 57]) {
    assert.equal(isStoreUnavailable(value), false)
  }
  assert.equal(isStoreUnavailable(new Error('some bug')), false)
})

async function failureOf(connectionString: string): Promise<unknown> {
  const options = { connectionString, connectionsMax: 1, applicationName: 'availability test' }
  const database = openDatabase({ ...options, onIdleError: () => {} })
  try {
    await database.ping()
    return null
  } catch (error) {
    return error
  } finally {
    await database.close()
  }
}

it('knows a server that is not there', async () => {
  const port = await findFreePort()
  assert.equal(isStoreUnavailable(await failureOf(`postgres://u@127.0.0.1:${port}/x`)), true)
})

it('knows a server that hangs up without a word', async test => {
  const server = createServer(socket => socket.destroy())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => new Promise(resolve => server.close(resolve)))
  const { port } = server.address() as { port: number }
  assert.equal(isStoreUnavailable(await failureOf(`postgres://u@127.0.0.1:${port}/x`)), true)
})

it('knows the errors of a connection that is ended under a statement', async test => {
  const { database } = await createTestDatabase(test)
  const victim = await database.pool.connect()
  try {
    const { rows } = await victim.query('select pg_backend_pid() as pid')
    const waiting = victim.query('select pg_sleep(600)').catch(error => error)
    await database.pool.query('select pg_terminate_backend($1)', [rows[0].pid])
    assert.equal(isStoreUnavailable(await waiting), true)
    const later = await victim.query('select 1').catch(error => error)
    assert.equal(isStoreUnavailable(later), true)
  } finally {
    victim.release(true)
  }
})

it('knows a statement that was wrong from a store that is away', async test => {
  const { database } = await createTestDatabase(test)
  const wrong = await database.pool.query('select * from nowhere').catch(error => error)
  assert.equal(isStoreUnavailable(wrong), false)
})
