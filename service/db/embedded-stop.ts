import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import type { Postmaster } from './postmaster-file.ts'
import { processIdentity } from './process-identity.ts'
import { waitUntil } from './wait-until.ts'

/**
 * Ways to end PostgreSQL (its manual, "Shutting Down the Server"), the kindest first. Fast
 * shutdown drops clients and leaves a clean disk; immediate shutdown leaves recovery to the next
 * start. Neither loses a commit.
 */
const ENDINGS = [
  { signal: 'SIGINT', secondsMax: 20 },
  { signal: 'SIGQUIT', secondsMax: 10 },
] as const

/** Ends a server, ours or one that we found, and returns when it is gone. */
export async function endServer(postmaster: Postmaster): Promise<void> {
  const isGone = () => !isRunning(postmaster)
  for (const { signal, secondsMax } of ENDINGS) {
    sendSignal(postmaster, signal)
    if (await waitUntil(isGone, { secondsMax, everyMilliseconds: 25 })) return
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL (process ${postmaster.processId}) does not end: end it by hand, then start again.`,
  )
}

export function isRunning({ processId, identity }: Postmaster): boolean {
  return processIdentity(processId) === identity
}

function sendSignal(postmaster: Postmaster, signal: NodeJS.Signals): void {
  if (!isRunning(postmaster)) return
  try {
    process.kill(postmaster.processId, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
