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
