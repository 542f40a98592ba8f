/** How a command ended, as a script sees it. README.md and the help list them. */
export const EXIT_CODES = {
  success: 0,
  failure: 1,
  usage: 2,
  authentication: 4,
  notFound: 5,
  refused: 6,
  tryLater: 7,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]

/** An expected failure of the program itself, in one sentence. */
export class CliError extends Error {
  override name = 'CliError'
  readonly exitCode: ExitCode
  /** What to do about it. */
  readonly hint: string | null

  constructor(kind: keyof typeof EXIT_CODES, message: string, hint: string | null = null) {
    super(message)
    this.exitCode = EXIT_CODES[kind]
    this.hint = hint
  }
}

/** The command line is wrong: exit code 2. */
export function createUsageError(message: string, hint: string | null = null): CliError {
  return new CliError('usage', message, hint)
}
