import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Database } from '../../service/runtime/db/database.ts'
import { median } from './report-format.ts'

const FLUSHES = 100
const PAGE_BYTES = 8_192

/**
 * The context of every figure: CPU, memory, versions, and the time of one flush to this disk, since
 * every commit waits for one. Names durability settings that are off.
 */
export async function describeMachine(database: Database, folder: string): Promise<string> {
  const { rows } = await database.pool.query(
    `select current_setting('server_version') as version,
       current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous`,
  )
  const { version, fsync, synchronous } = rows[0]
  const processors = cpus()
  const safety = `fsync ${fsync}, synchronous_commit ${synchronous}`
  return [
    `${processors.length} x ${processors[0]?.model.trim() ?? 'unknown processor'}`,
    `${Math.round(totalmem() / 1e9)} GB`,
    `Node ${process.versions.node}`,
    `PostgreSQL ${version} (${safety})`,
    `one disk flush ${flushMilliseconds(folder).toFixed(2)} ms`,
  ].join(', ')
}

/** The median of writing one page at the end of a file and flushing it. */
function flushMilliseconds(folder: string): number {
  const path = join(folder, 'flush-probe')
  const file = openSync(path, 'w')
  try {
    const page = Buffer.alloc(PAGE_BYTES, 1)
    const took = Array.from({ length: FLUSHES }, (_, index) => {
      const start = performance.now()
      writeSync(file, page, 0, PAGE_BYTES, index * PAGE_BYTES)
      fdatasyncSync(file)
      return performance.now() - start
    })
    return median(took)
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
}
