import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import type { Settings } from '../../runtime/settings/settings.ts'

/** What the program gives to every role. */
export interface RoleContext {
  settings: Settings
  logger: ServiceLogger
  now: () => Date
  /** Messages for the operator: standard error. The log has a stream of its own. */
  printStatus: (text: string) => void
  /** The result of a command: standard output. */
  printOutput: (text: string) => void
  standardInput: AsyncIterable<Buffer>
  /** Ends the program: something that the role depends on is gone. The sentence names it. */
  onFatal: (sentence: string) => void
}

/** A role that runs until it is closed. */
export interface RunningRole {
  close(): Promise<void>
}

/** The program cannot start, or a command cannot be carried out. The message is one sentence. */
export class StartError extends Error {
  override name = 'StartError'
}

/** Closes everything in reverse order, and continues when one of them fails. */
export async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const close of closers.toReversed()) {
    await close().catch(error => failures.push(error))
  }
  if (failures.length > 0) throw new AggregateError(failures, 'not everything closed cleanly')
}
