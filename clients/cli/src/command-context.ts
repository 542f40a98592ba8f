import { type ClientOptions, type Hooks, Signalbox, VERSION } from '@signalbox/sdk'
import type { Command } from 'commander'
import type { ExitCode } from './cli-error.ts'
import { type Connection, requireToken, resolveConnection } from './connection.ts'
import type { CliHost } from './host.ts'
import { createStyle, type Style } from './output/style.ts'

/** The options that every command takes. */
export interface GlobalOptions {
  json?: boolean
  baseUrl?: string
  color?: boolean
  quiet?: boolean
  verbose?: boolean
}

/** What a command works with. */
export interface CommandContext {
  host: CliHost
  isJson: boolean
  isQuiet: boolean
  /** For standard output. */
  style: Style
  /** For standard error. */
  messageStyle: Style
  connection: () => Promise<Connection>
  /** A client that follows --verbose and names this program. */
  createClient: (options: ClientOptions) => Signalbox
  /** Throws with exit code 4 when there is no token. */
  client: () => Promise<Signalbox>
  /** A client for what needs no token. */
  anonymousClient: () => Promise<Signalbox>
  print: (text: string) => Promise<void>
  /** The answer of the service, as it came. */
  printJson: (value: unknown) => Promise<void>
  /** A message beside the data; none with --quiet. */
  note: (text: string) => Promise<void>
}

export function createCommandContext(host: CliHost, options: GlobalOptions): CommandContext {
  const { json = false, quiet: isQuiet = false, verbose = false } = options
  const messageStyle = createStyle(host.stderr, host, options)
  const connection = () => resolveConnection(host, options.baseUrl)
  // Commands print the notices of an answer themselves.
  const printed = { onWarning: () => {} }
  const hooks = { ...printed, ...(verbose && createVerboseHooks(host, messageStyle)) }
  const appInfo = { name: 'signalbox-cli', version: VERSION }
  const createClient = (own: ClientOptions) => new Signalbox({ hooks, appInfo, ...own })
  return {
    host,
    isJson: json,
    isQuiet,
    style: createStyle(host.stdout, host, options),
    messageStyle,
    connection,
    createClient,
    client: async () => {
      const found = await connection()
      return createClient({ baseUrl: found.baseUrl, token: requireToken(found) })
    },
    anonymousClient: async () => {
      const { baseUrl } = await connection()
      return createClient({ baseUrl })
    },
    print: text => host.stdout.write(text),
    printJson: value => host.stdout.write(`${JSON.stringify(value, null, 2)}\n`),
    note: async text => {
      if (!isQuiet) await host.stderr.write(text)
    },
  }
}

/** One line for each request, without headers and bodies. */
function createVerboseHooks({ stderr }: CliHost, style: Style): Hooks {
  const say = (text: string) => void stderr.write(`${style('dim', text)}\n`)
  return {
    onResponse({ method, path, status, milliseconds, requestId }) {
      const answer = `${status ?? 'no answer'} ${Math.round(milliseconds)} ms`
      say(`${method} ${path} ${answer} ${requestId ?? ''}`)
    },
    onRetry: ({ delayMilliseconds }) => say(`retry in ${Math.round(delayMilliseconds)} ms`),
  }
}

/** The work of one command. It returns an exit code other than 0 when it was only partly done. */
export type Handler<Options> = (
  context: CommandContext,
  options: Options & GlobalOptions,
  positional: string[],
) => Promise<ExitCode | undefined>

/** Makes the action of a command from its work. */
export type Run = <Options>(handler: Handler<Options>) => (...given: unknown[]) => Promise<void>

/** Adds the commands of a group below its name. */
export type DefineGroup = (group: Command, run: Run) => void
