/** What the program needs of its process, so that tests run it without one. */
export interface CliHost {
  environment: Readonly<Record<string, string | undefined>>
  homeFolder: string
  /** Null where files have no owner (Windows). */
  userId: number | null
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  /** Data only. */
  stdout: Output
  /** Messages, questions and progress. */
  stderr: Output
  now: () => Date
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
}

export interface Output {
  isTerminal: boolean
  /** In characters; null when it is no terminal. */
  width: () => number | null
  /** Resolves when the reader has it, so that a slow one is not flooded. */
  write: (text: string) => Promise<void>
}
