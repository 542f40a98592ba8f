import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { it } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { openDatabase } from './database.ts'
import { findStoreFailureCause, isStoreUnavailable } from './database-errors.ts'

function withCode(code: string): Error {
  return Object.assign(new Error('something about the store'), { code })
}

const TRANSIENT = {
  ECONNREFUSED: 'no listener',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke while writing',
  ETIMEDOUT: 'the network timed out',
  ENOTFOUND: 'the name does not resolve',
  EAI_AGAIN: 'the name server is unavailable',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  '08006': 'connection failure',
  '53100': 'disk full',
  '53300': 'too many connections',
  '26000': 'a pooler lost a prepared statement',
  '42P05': 'a pooler mixed up prepared statements',
  '55P03': 'a lock was held for too long',
  '57P01': 'admin shutdown',
  '57P03': 'still starting',
  '57014': 'the statement took too long',
  '58030': 'input or output error',
  '25006': 'a standby that is not promoted yet',
}

const PERMANENT = {
  '23505': 'unique violation',
  '23514': 'check violation',
  '22P02': 'text that is not a uuid',
  '22021': 'a NUL in a text',
  '42P01': 'no such table',
  '40P01': 'a deadlock',
  '57000': 'an unspecified operator intervention',
  ENOENT: 'a missing file',
  FST_ERR_CTP_BODY_TOO_LARGE: 'a code of another library',
}

for (const [code, meaning] of Object.entries(TRANSIENT)) {
  it(`${code} means unavailable: ${meaning}`, () => {
    assert.equal(isStoreUnavailable(withCode(code)), true)
  })
}

it('names the cause of an unavailable store', () => {
  const causes = Object.keys(TRANSIENT).map(code => [code, findStoreFailureCause(withCode(code))])
  assert.deepEqual(Object.fromEntries(causes.filter(([, cause]) => cause !== 'unreachable')), {
    '26000': 'pooler',
    '42P05': 'pooler',
    '53100': 'disk_full',
    '53300': 'too_many_connections',
    '57P01': 'shutting_down',
    '57P03': 'shutting_down',
    '55P03': 'lock_timeout',
    '57014': 'timeout',
    '58030': 'io_error',
    '25006': 'read_only',
  })
  assert.equal(findStoreFailureCause(withCode('53200')), 'out_of_memory')
  assert.equal(findStoreFailureCause(withCode('53400')), 'resource_limit')
  assert.equal(
    findStoreFailureCause(new Error('Connection terminated unexpectedly')),
    'unreachable',
  )
  for (const code of Object.keys(PERMANENT)) {
    assert.equal(findStoreFailureCause(withCode(code)), null)
  }
})

for (const [code, meaning] of Object.entries(PERMANENT)) {
  it(`${code} does not mean unavailable: ${meaning}`, () => {
    assert.equal(isStoreUnavailable(withCode(code)), false)
  })
}

it('distinguishes a lost node and a divided shard of Citus from other internal errors', () => {
  const internal = (message: string) => Object.assign(new Error(message), { code: 'XX000' })
  const nodeLost = internal('failure on connection marked as essential: 127.0.0.1:5602')
  assert.equal(isStoreUnavailable(nodeLost), true)
  const divided = internal('could not find valid entry for shard 102146')
  assert.equal(isStoreUnavailable(divided), true)
  // Planned while the ranges of the shards changed.
  const message = 'shard for the given value does not exist'
  assert.equal(isStoreUnavailable(Object.assign(new Error(message), { code: '40001' })), true)
  assert.equal(isStoreUnavailable(internal('operation is not allowed on this node')), false)
})

it('ignores values that are not errors', () => {
  for (const value of [undefined, null, 'ECONNREFUSED', { code: '08006' }, 57]) {
    assert.equal(isStoreUnavailable(value), false)
  }
  assert.equal(isStoreUnavailable(new Error('some bug')), false)
})

async function pingFailure(connectionString: string): Promise<unknown> {
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

it('recognizes a refused connection', async () => {
  const port = await findFreePort()
  assert.equal(isStoreUnavailable(await pingFailure(`postgres://u@127.0.0.1:${port}/x`)), true)
})

it('recognizes a server that closes the connection immediately', async test => {
  const server = createServer(socket => socket.destroy())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => new Promise(resolve => server.close(resolve)))
  const { port } = server.address() as { port: number }
  assert.equal(isStoreUnavailable(await pingFailure(`postgres://u@127.0.0.1:${port}/x`)), true)
})

it('recognizes a connection that is terminated during a statement', async test => {
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

it('does not mistake an invalid statement for an unavailable store', async test => {
  const { database } = await createTestDatabase(test)
  const wrong = await database.pool.query('select * from nowhere').catch(error => error)
  assert.equal(isStoreUnavailable(wrong), false)
})
