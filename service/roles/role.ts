import type { ServiceLogger } from '../http/service-app.ts'
import type { Settings } from '../settings/settings.ts'

/** What `main.ts` gives to every role. */
export interface RoleContext {
  settings: Settings
  logger: ServiceLogger
  now: () => Date
  /** Words for the person at the terminal; the log has its own stream. */
  tell: (text: string) => void
  /** What a command was asked for: standard output. */
  print: (text: string) => void
  /** Something without which the role cannot go on has ended, with a sentence about it. */
  onFatal: (sentence: string) => void
}

/** A role that runs until it is closed. */
export interface RunningRole {
  close(): Promise<void>
}
