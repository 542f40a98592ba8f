import type pg from 'pg'
import { type Database, type DatabaseOptions, openDatabase } from '../database.ts'
import { MEASURE_SECONDS, ReadReplica, type ReadReplicaOptions } from './read-replica.ts'

export interface RunningReplica {
  replica: ReadReplica
  close(): Promise<void>
}

type Callbacks = Omit<ReadReplicaOptions, 'primary' | 'replica' | 'probe'>

/**
 * Opens the replica at `options` and compares it with the primary every second, without keeping the
 * process alive. A replica that is away stops nothing: reads go to the primary until it answers.
 */
export function startReadReplica(
  primary: Database,
  options: DatabaseOptions,
  callbacks: Callbacks,
): RunningReplica {
  const replica = openDatabase({ ...options, isReadOnly: true })
  const probe = openDatabase({ ...options, isReadOnly: true, connectionsMax: 1 })
  const clients = new Set<pg.Client>()
  for (const { pool } of [replica, probe]) {
    pool.on('connect', client => clients.add(client as unknown as pg.Client))
    pool.on('remove', client => clients.delete(client as unknown as pg.Client))
  }
  const reads = new ReadReplica({ ...callbacks, primary, replica, probe })
  const timer = setInterval(() => void reads.measure(), MEASURE_SECONDS * 1_000)
  timer.unref()
  void reads.measure()
  const close = async () => {
    clearInterval(timer)
    await reads.settle()
    const closed = Promise.all([replica.close(), probe.close()])
    // A read that hangs would hold its connection, and the end of the process, for a minute.
    for (const client of clients) client.end().catch(() => {})
    await closed
  }
  return { replica: reads, close }
}
