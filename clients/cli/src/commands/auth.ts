import { CliError, createUsageError, EXIT_CODES } from '../cli-error.ts'
import type { CommandContext, DefineGroup, Handler } from '../command-context.ts'
import { type Connection, LOGIN_HINT, maskToken } from '../connection.ts'
import { deleteCredential, writeCredential } from '../credential-file.ts'
import { exitCodeOf } from '../exit-codes.ts'
import { askSecret, readInput } from '../output/prompt.ts'
import { formatFacts } from '../output/table.ts'

export const defineAuth: DefineGroup = (group, run) => {
  group
    .command('login')
    .description('store a token for a service; asks for it, or reads it from standard input')
    .addHelpText('after', '\nExample:\n  signalbox auth login --base-url https://events.example\n')
    .action(run(login))
  group.command('logout').description('delete the stored token').action(run(logout))
  group
    .command('status')
    .description('show which token is used for which service, and whether it works')
    .action(run(showStatus))
}

const login: Handler<object> = async context => {
  const { host } = context
  // A login replaces a file that cannot be used.
  const connection = await context.connection().catch(async error => {
    if (error instanceof CliError && error.exitCode === EXIT_CODES.authentication) {
      await deleteCredential(host)
      return context.connection()
    }
    throw error
  })
  const { baseUrl } = connection
  const token = host.stdin.isTTY
    ? await askSecret(host, `Token for ${baseUrl}: `)
    : (await readInput(host)).trim()
  if (token === '') throw createUsageError('There is no token on standard input.')
  await checkToken(context, { baseUrl, token })
  await writeCredential(host, { base_url: baseUrl, token })
  const { style } = context
  await context.note(`${style('green', '✓')} The token for ${baseUrl} works and is stored.\n`)
  if (host.environment.SIGNALBOX_TOKEN) {
    await context.note('SIGNALBOX_TOKEN is set and wins over it.\n')
  }
  return undefined
}

const logout: Handler<object> = async context => {
  const wasStored = await deleteCredential(context.host)
  await context.note(wasStored ? 'The stored token is deleted.\n' : 'There is no stored token.\n')
  if (context.host.environment.SIGNALBOX_TOKEN) {
    await context.note('SIGNALBOX_TOKEN is still set and is used.\n')
  }
  return undefined
}

const showStatus: Handler<object> = async context => {
  const connection = await context.connection()
  const { token, baseUrl, baseUrlSource, tokenSource, storedFor, storedToken } = connection
  const error = token === null ? null : await tryToken(context, { baseUrl, token })
  const state = token === null ? 'missing' : error === null ? 'works' : describeFailure(error)
  if (context.isJson) {
    await context.printJson({
      base_url: baseUrl,
      base_url_source: baseUrlSource,
      token: token === null ? null : maskToken(token),
      token_source: tokenSource,
      stored_for: storedFor,
      path: connection.path,
      state,
    })
  } else {
    const facts: [string, string][] = [
      ['Service', `${baseUrl} (${baseUrlSource})`],
      ['Token', token === null ? 'none' : `${maskToken(token)} (${tokenSource})`],
      ['Stored', storedToken === null ? 'none' : `${maskToken(storedToken)} for ${storedFor}`],
      ['File', connection.path],
      ['State', state],
    ]
    await context.print(formatFacts(facts, context.style))
    await context.print(precedence(connection))
  }
  if (token === null) return EXIT_CODES.authentication
  return error === null ? EXIT_CODES.success : exitCodeOf(error)
}

function precedence({ tokenSource, storedToken, token }: Connection): string {
  if (tokenSource === 'SIGNALBOX_TOKEN' && storedToken !== null) {
    return 'SIGNALBOX_TOKEN wins over the stored token.\n'
  }
  return token === null ? `${LOGIN_HINT}\n` : ''
}

interface Trial {
  baseUrl: string
  token: string
}

async function tryToken(context: CommandContext, trial: Trial): Promise<unknown> {
  return checkToken(context, trial).then(
    () => null,
    error => error,
  )
}

/** A read that any token of a tracker may do, and that stores nothing. */
async function checkToken({ host, createClient }: CommandContext, trial: Trial): Promise<void> {
  await createClient(trial).events.list({ per_page: 1 }, { signal: host.signal })
}

function describeFailure(error: unknown): string {
  return exitCodeOf(error) === EXIT_CODES.authentication
    ? 'refused by the service'
    : `could not be checked: ${error instanceof Error ? error.message : error}`
}
