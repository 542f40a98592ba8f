import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { createTestDatabase, type TestDatabase } from '../../testing/fixtures/database.ts'
import { listenForNotifications, type NotificationListener } from './notification-listener.ts'

interface Ear {
  notices: NotificationListener
  /** Resolves when so many notices have come. */
  heard(count: number): Promise<void>
  lost: Promise<void>
  lostCount(): number
}

async function listen(test: TestContext, { connectionString }: TestDatabase, channel: string) {
  const lost = Promise.withResolvers<void>()
  let losses = 0
  let notices = 0
  let waiting: { count: number; resolve: () => void } | null = null
  const ear: Ear = {
    notices: await listenForNotifications({
      connectionString,
      channel,
      onNotification: () => {
        notices += 1
        if (waiting && notices >= waiting.count) waiting.resolve()
      },
      onLost: () => {
        losses += 1
        lost.resolve()
      },
    }),
    heard: count =>
      new Promise<void>(resolve => {
        waiting = { count, resolve }
        if (notices >= count) resolve()
      }),
    lost: lost.promise,
    lostCount: () => losses,
  }
  test.after(() => ear.notices.close().catch(() => {}))
  return ear
}

function backendsOf({ database }: TestDatabase): Promise<{ rows: { pid: number }[] }> {
  return database.pool.query(
    `select pid from pg_stat_activity
     where application_name = 'signalbox notices' and datname = current_database()`,
  )
}

it('hears every notice on its channel and none on another', async test => {
  const store = await createTestDatabase(test)
  const ear = await listen(test, store, 'signalbox_test')
  const { pool } = store.database
  await pool.query("select pg_notify('signalbox_other', '')")
  await pool.query("select pg_notify('signalbox_test', '')")
  await pool.query("select pg_notify('signalbox_test', 'again')")
  await ear.heard(2)
  assert.equal(ear.lostCount(), 0)
})

it('takes a channel name as it is, whatever stands in it', async test => {
  const store = await createTestDatabase(test)
  const ear = await listen(test, store, 'Odd "name"; drop table events')
  await store.database.pool.query('select pg_notify($1, $2)', ['Odd "name"; drop table events', ''])
  await ear.heard(1)
})

it('reports once that its connection broke, and can be made again', async test => {
  const store = await createTestDatabase(test)
  const ear = await listen(test, store, 'signalbox_test')
  const { rows } = await backendsOf(store)
  assert.equal(rows.length, 1)
  await store.database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  await ear.lost
  assert.equal(ear.lostCount(), 1)

  const again = await listen(test, store, 'signalbox_test')
  await store.database.pool.query("select pg_notify('signalbox_test', '')")
  await again.heard(1)
})

it('does not call it a loss when it is closed', async test => {
  const store = await createTestDatabase(test)
  const ear = await listen(test, store, 'signalbox_test')
  await ear.notices.close()
  assert.equal(ear.lostCount(), 0)
})

it('says that nobody answers, and leaves nothing behind', async () => {
  const connectionString = `postgres://u@127.0.0.1:${await findFreePort()}/x`
  let losses = 0
  const onLost = () => {
    losses += 1
  }
  const listening = listenForNotifications({
    connectionString,
    channel: 'signalbox_test',
    onNotification: () => {},
    onLost,
  })
  await assert.rejects(listening, { code: 'ECONNREFUSED' })
  assert.equal(losses, 0)
})

it('gives up on a server that takes the connection and stays silent', async test => {
  const sockets = new Set<Socket>()
  const silent = createServer(socket => void sockets.add(socket))
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise(resolve => silent.close(resolve))
  })
  const { port } = silent.address() as { port: number }
  const listening = listenForNotifications({
    connectionString: `postgres://u@127.0.0.1:${port}/x`,
    channel: 'signalbox_test',
    onNotification: () => {},
    onLost: () => {},
  })
  await assert.rejects(listening, /timeout/)
})
