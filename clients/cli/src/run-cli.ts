import { CommanderError } from 'commander'
import { CliError, EXIT_CODES, type ExitCode } from './cli-error.ts'
import { exitCodeOf } from './exit-codes.ts'
import type { CliHost } from './host.ts'
import { createStyle } from './output/style.ts'
import { createProgram } from './program.ts'
import { errorJson, formatError } from './report-error.ts'

/** Runs one command and returns its exit code. Never throws. */
export async function runCli(argumentList: readonly string[], host: CliHost): Promise<ExitCode> {
  try {
    const outcome: { exitCode: ExitCode } = { exitCode: EXIT_CODES.success }
    const program = await createProgram(argumentList, host, outcome)
    if (argumentList.length === 0) {
      program.outputHelp()
      return EXIT_CODES.success
    }
    await program.parseAsync(argumentList, { from: 'user' })
    return outcome.exitCode
  } catch (error) {
    return reportFailure(error, argumentList, host)
  }
}

const HELP_CODES = new Set(['commander.help', 'commander.helpDisplayed', 'commander.version'])

async function reportFailure(
  error: unknown,
  argumentList: readonly string[],
  host: CliHost,
): Promise<ExitCode> {
  if (error instanceof CommanderError && HELP_CODES.has(error.code)) {
    return error.exitCode === 0 ? EXIT_CODES.success : EXIT_CODES.usage
  }
  const isInterrupted = host.signal.aborted && !(error instanceof CliError)
  const shown = isInterrupted ? new CliError('interrupted', 'Interrupted.') : error
  const isJson = argumentList.includes('--json')
  const color = !argumentList.includes('--no-color')
  const text = isJson
    ? `${JSON.stringify(errorJson(shown))}\n`
    : formatError(shown, createStyle(host.stderr, host, { color }))
  await host.stderr.write(text)
  return exitCodeOf(shown)
}
