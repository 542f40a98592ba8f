import { Session } from 'node:inspector/promises'

/**
 * Returns to the system the memory that loading the program took, for the thread that calls it.
 * Loading leaves a large young generation and code that ran once, and V8 keeps both for as long as
 * little is allocated: 143 MB of `npm start` (docs/operations/memory.md). `gc()` frees the objects
 * and keeps the pages; the collection for a heap profile drops the pages too.
 *
 * It stops the thread for 65 ms, or longer on a busy machine, so call it at the end of the start,
 * before requests arrive.
 */
export async function releaseStartMemory(): Promise<void> {
  if (!process.features.inspector) return
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}
