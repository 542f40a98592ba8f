import type { ServiceLogger } from '../http/service-app.ts'
import type { Settings } from '../settings/settings.ts'

/** What `main.ts` gives to every role. */
export interface RoleContext {
  settings: Settings
  logger: ServiceLogger
  now: () => Date
  /** Words for the person at the terminal; the log has its own stream. */
  printStatus: (text: string) => void
  /** What a command was asked for: standard output. */
  printOutput: (text: string) => void
  /** Something without which the role cannot go on has ended, with a sentence about it. */
  onFatal: (sentence: string) => void
}

/** A role that runs until it is closed. */
export interface RunningRole {
  close(): Promise<void>
}

/** The program cannot start as it was told; the message is one sentence for a person. */
export class StartError extends Error {
  override name = 'StartError'
}

/** For a role without arguments: who writes `--port 80` should hear that nobody reads it. */
export function refuseArguments(role: string, [first]: readonly string[]): void {
  if (first === undefined) return
  throw new StartError(
    `The role ${role} takes no arguments, not ${first}: settings are environment variables, ` +
      'such as PORT=8080.',
  )
}

/** Closes what was opened, the last first, and goes on when one of them fails. */
export async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const close of closers.toReversed()) {
    await close().catch(error => failures.push(error))
  }
  if (failures.length > 0) throw new AggregateError(failures, 'not everything closed cleanly')
}
