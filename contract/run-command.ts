import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

/** An error of a command; the message is one sentence for the user. */
export class CommandError extends Error {
  override name = 'CommandError'
}

/** Runs a command of this folder and prints its result. Errors go to standard error. */
export async function runCommand(
  command: (argumentList: readonly string[]) => Promise<string>,
): Promise<void> {
  try {
    process.stdout.write(`${await command(process.argv.slice(2))}\n`)
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}

/** Parses options that each take a value. Throws a CommandError with the usage otherwise. */
export function readOptions<Name extends string>(
  argumentList: readonly string[],
  names: readonly Name[],
  usage: string,
): Partial<Record<Name, string>> {
  const options = Object.fromEntries(names.map(name => [name, { type: 'string' } as const]))
  try {
    const { values } = parseArgs({ args: [...argumentList], options })
    return values as Partial<Record<Name, string>>
  } catch (cause) {
    throw new CommandError(usage, { cause })
  }
}

/** Throws a CommandError that names the file. */
export function readNamedFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new CommandError(`${path} cannot be read (${code}).`, { cause })
  }
}
