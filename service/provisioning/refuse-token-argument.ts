import { PlatformTokenError } from './read-platform-token.ts'

/** Who passes a secret as an argument should hear why not, instead of how the command is used. */
export function refuseTokenArgument(argumentList: readonly string[]): void {
  if (!argumentList.some(argument => /^--(access[-_])?token(=|$)/.test(argument))) return
  throw new PlatformTokenError(
    'A token is never an argument, because arguments stand in the process list and in the ' +
      'history of the shell: put it into a file, or pipe it in, and name the file or -.',
  )
}
