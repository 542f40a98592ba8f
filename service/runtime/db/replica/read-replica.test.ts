import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../../testing/fixtures/database.ts'
import { startReplicatedStore } from '../../../../testing/fixtures/read-replica.ts'
import { waitUntil } from '../../../../testing/fixtures/wait-until.ts'
import { Refusal } from '../../http/refusal.ts'
import { monotonicSeconds } from '../../util/time.ts'
import { type Database, openDatabase } from '../database.ts'
import {
  COOL_DOWN_SECONDS,
  MEASURE_SECONDS,
  ReadReplica,
  type ReadResult,
  type ReplicaProblem,
} from './read-replica.ts'
import { startReadReplica } from './worker.ts'

const LAG_SECONDS_MAX = 5

/** A replica that is measured when a test says so, on a clock that the test moves. */
function openReplica(test: TestContext, primary: Database, replicaUrl: string) {
  const options = {
    connectionString: replicaUrl,
    applicationName: 'signalbox reads',
    onIdleError: () => {},
    isReadOnly: true,
  }
  const replica = openDatabase({ ...options, connectionsMax: 4 })
  const probe = openDatabase({ ...options, connectionsMax: 1 })
  test.after(() => Promise.all([replica.close(), probe.close()]))
  const results: ReadResult[] = []
  const changes: (ReplicaProblem | null)[] = []
  let seconds = 1_000
  const reads = new ReadReplica({
    primary,
    replica,
    probe,
    lagSecondsMax: LAG_SECONDS_MAX,
    monotonicSeconds: () => seconds,
    onRead: result => results.push(result),
    onChange: problem => changes.push(problem),
  })
  const pass = async (by: number) => {
    for (let passed = 0; passed < by; passed += MEASURE_SECONDS) {
      seconds += MEASURE_SECONDS
      await reads.measure()
    }
  }
  const count = (hasWritten = false) => reads.read(countNotes, { hasWritten })
  return { reads, results, changes, pass, count }
}

async function countNotes({ pool }: Database): Promise<number> {
  return (await pool.query('select count(*) from notes')).rows[0].count
}

async function startPair(test: TestContext) {
  const store = await startReplicatedStore(test)
  const { database } = store.primary
  const write = () => database.pool.query('insert into notes default values')
  await database.pool.query('create table notes (id bigint generated always as identity)')
  await write()
  await store.catchUp()
  const opened = openReplica(test, database, store.replica.connectionString)
  return { store, write, ...opened }
}

it('reads from a standby, and from the primary what it does not have yet', async test => {
  const { store, write, results, changes, pass, count, reads } = await startPair(test)
  assert.deepEqual(await count(), { value: 1, ageSeconds: 0 }, 'nothing was measured yet')
  await pass(1)
  assert.deepEqual(await count(), { value: 1, ageSeconds: 0 })
  assert.deepEqual(results, ['away', 'replica'])
  assert.deepEqual(changes, [null])

  await test.test('an idle primary is no lag', async () => {
    await pass(12 * LAG_SECONDS_MAX)
    assert.deepEqual(await count(), { value: 1, ageSeconds: 0 })
    assert.equal(results.at(-1), 'replica')
  })

  await test.test('a session that wrote something reads from the primary', async () => {
    await store.pause()
    await write()
    assert.deepEqual(await count(true), { value: 2, ageSeconds: 0 })
    assert.deepEqual(await count(), { value: 1, ageSeconds: 0 })
    assert.deepEqual(results.splice(0).slice(-2), ['own_write', 'replica'])
    assert.ok(reads.ownWriteSeconds > LAG_SECONDS_MAX, 'a replica in use has what is older')
  })

  await test.test('a lag is told, until it is too long', async () => {
    await pass(3)
    assert.deepEqual(await count(), { value: 1, ageSeconds: 3 })
    assert.equal(reads.lagSeconds, 3)
    await pass(3)
    assert.deepEqual(await count(), { value: 2, ageSeconds: 0 })
    assert.deepEqual(results.splice(0), ['replica', 'lag'])
    assert.equal(reads.lagSeconds, 6)
  })

  await test.test('it is read again when it has caught up for a while', async () => {
    await store.resume()
    await store.catchUp()
    await pass(COOL_DOWN_SECONDS - 1)
    assert.equal((await count()).value, 2)
    await pass(1)
    assert.deepEqual(await count(), { value: 2, ageSeconds: 0 })
    assert.deepEqual(results.splice(0), ['lag', 'replica'])
    assert.deepEqual(changes.splice(0), [null, 'lag', null])
  })

  await test.test('a lag is measured while the primary is written without a pause', async () => {
    for (let second = 0; second < 2 * LAG_SECONDS_MAX; second += 1) {
      await write()
      await pass(1)
      await store.catchUp()
    }
    const { ageSeconds } = await count()
    assert.ok(ageSeconds <= MEASURE_SECONDS, `${ageSeconds} s`)
    assert.deepEqual(results.splice(0), ['replica'])
  })
})

it('answers from the primary what fails on the standby', async test => {
  const { store, write, results, changes, pass, count, reads } = await startPair(test)
  await pass(1)

  await test.test('a statement that is canceled for the changes of the primary', async () => {
    const tries: Database[] = []
    const { value } = await reads.read(
      async database => {
        tries.push(database)
        if (tries.length === 1) await raise(database, '40001')
        return countNotes(database)
      },
      { hasWritten: false },
    )
    assert.equal(value, 1)
    assert.equal(tries.length, 2)
    await count()
    assert.deepEqual(results.splice(0), ['repeated', 'replica'], 'it stays in use')
  })

  await test.test('a refusal and a mistake are the answer', async () => {
    let tries = 0
    const refused = reads.read(
      async () => {
        tries += 1
        throw Refusal.notFound('Not found.')
      },
      { hasWritten: false },
    )
    await assert.rejects(refused, /Not found/)
    assert.equal(tries, 1)
    const change = ({ pool }: Database) => pool.query('insert into notes default values')
    await assert.rejects(reads.read(change, { hasWritten: false }), { code: '25006' })
    assert.equal(await countNotes(store.primary.database), 1)
    assert.deepEqual(results.splice(0), [])
  })

  await test.test('a connection that ends', async () => {
    let tries = 0
    const { value } = await reads.read(
      async database => {
        tries += 1
        if (tries === 1) await database.pool.query('select pg_terminate_backend(pg_backend_pid())')
        return countNotes(database)
      },
      { hasWritten: false },
    )
    assert.equal(value, 1)
    assert.equal((await count()).value, 1)
    await pass(COOL_DOWN_SECONDS + 1)
    assert.equal((await count()).value, 1)
    assert.deepEqual(results.splice(0), ['repeated', 'away', 'replica'])
  })

  await test.test('a read that hangs on a standby that went away', async () => {
    store.proxy.setMode({ mode: 'swallow', direction: 'response' })
    const hanging = count()
    await pass(1)
    assert.deepEqual(await hanging, { value: 1, ageSeconds: 0 })
    assert.equal(reads.lagSeconds, null)
    await write()
    assert.equal((await count()).value, 2)
    assert.deepEqual(results.splice(0), ['repeated', 'away'])
    store.proxy.reset()
    await pass(COOL_DOWN_SECONDS + 1)
    await waitUntil('it answers again', async () => {
      await pass(1)
      await count()
      return results.at(-1) === 'replica'
    })
    results.length = 0
  })

  await test.test('a read that hangs does not hold the end of the process', async () => {
    const given: ReadResult[] = []
    const options = {
      connectionString: store.replica.connectionString,
      connectionsMax: 2,
      applicationName: 'signalbox reads',
      onIdleError: () => {},
    }
    const running = startReadReplica(store.primary.database, options, {
      lagSecondsMax: LAG_SECONDS_MAX,
      monotonicSeconds,
      onRead: result => given.push(result),
      onChange: () => {},
    })
    await waitUntil('the replica is read', async () => {
      await running.replica.read(countNotes, { hasWritten: false })
      return given.at(-1) === 'replica'
    })
    store.proxy.setMode({ mode: 'swallow', direction: 'response' })
    const hanging = running.replica.read(countNotes, { hasWritten: false })
    await running.close()
    assert.equal((await hanging).value, 2)
    assert.equal(given.at(-1), 'repeated')
    store.proxy.reset()
    results.length = 0
  })

  await test.test('a standby that was promoted', async () => {
    await store.replica.database.pool.query('select pg_promote()')
    await pass(1)
    await write()
    assert.equal((await count()).value, 3)
    assert.deepEqual(results, ['unfit'])
    assert.equal(changes.at(-1), 'unfit')
  })
})

it('never reads from a database that is no copy', async test => {
  const { database } = await createTestDatabase(test)
  const other = await createTestDatabase(test)
  await database.pool.query('create table notes (id bigint)')
  const { results, pass, count } = openReplica(test, database, other.connectionString)
  await pass(COOL_DOWN_SECONDS + 1)
  assert.equal((await count()).value, 0)
  assert.deepEqual(results, ['unfit'])
})

async function raise({ pool }: Database, code: string): Promise<void> {
  const raised = `do $$ begin raise exception 'raised' using errcode = '${code}'; end $$`
  await pool.query(raised)
}
