import { VERSION } from '@signalbox/sdk'
import { Command, Option } from 'commander'
import type { ExitCode } from './cli-error.ts'
import {
  createCommandContext,
  type DefineGroup,
  type GlobalOptions,
  type Run,
} from './command-context.ts'
import type { CliHost } from './host.ts'

interface Group {
  description: string
  /** Only the modules of the chosen group are loaded, so that a short command starts quickly. */
  load: () => Promise<DefineGroup>
}

const GROUPS: Readonly<Record<string, Group>> = {
  events: {
    description: 'create events, from options or a file, and see what happened to them',
    load: async () => (await import('./commands/events.ts')).defineEvents,
  },
  destinations: {
    description: 'switch test mode, send a test purchase',
    load: async () => (await import('./commands/destinations.ts')).defineDestinations,
  },
  deliveries: {
    description: 'send failed deliveries again',
    load: async () => (await import('./commands/deliveries.ts')).defineDeliveries,
  },
  reports: {
    description: 'compare your counts with those of the platform, see match quality',
    load: async () => (await import('./commands/reports.ts')).defineReports,
  },
  'user-data': {
    description: 'erase a person',
    load: async () => (await import('./commands/user-data.ts')).defineUserData,
  },
  auth: {
    description: 'store a token, see which one is used',
    load: async () => (await import('./commands/auth.ts')).defineAuth,
  },
  doctor: {
    description: 'check address, token, clock, contract and destination, and say what to do',
    load: async () => (await import('./commands/doctor.ts')).defineDoctor,
  },
  sandbox: {
    description: 'try an event without an account',
    load: async () => (await import('./commands/sandbox.ts')).defineSandbox,
  },
  completion: {
    description: 'print the completion script of a shell',
    load: async () => (await import('./commands/completion.ts')).defineCompletion,
  },
}

/** The program with the commands of the group that the arguments name. */
export async function createProgram(
  argumentList: readonly string[],
  host: CliHost,
  outcome: { exitCode: ExitCode },
): Promise<Command> {
  const chosen = argumentList.find(argument => Object.hasOwn(GROUPS, argument))
  const run: Run =
    handler =>
    async (...given) => {
      const command = given.at(-1) as Command
      const options = command.optsWithGlobals()
      const context = createCommandContext(host, options as GlobalOptions)
      outcome.exitCode = (await handler(context, options as never, command.args)) ?? 0
    }
  const program = new Command('signalbox')
    .description('Server-side conversion events: accepted once, decided by consent, delivered.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .addHelpText('after', HELP_FOOTER)
  for (const option of GLOBAL_OPTIONS) program.addOption(option)
  for (const [name, { description, load }] of Object.entries(GROUPS)) {
    const group = new Command(name).description(description)
    if (name === chosen || chosen === 'completion') (await load())(group, run)
    program.addCommand(group)
  }
  prepareCommand(program, host)
  return program
}

const GLOBAL_OPTIONS = [
  new Option('--json', 'print the answer of the service as JSON'),
  new Option('--base-url <url>', 'the service, such as https://events.example'),
  new Option('--no-color', 'print without colors'),
  new Option('-q, --quiet', 'print no messages and no progress'),
  new Option('-v, --verbose', 'print each request on standard error'),
]

const HELP_FOOTER = `
Environment:
  SIGNALBOX_TOKEN     the secret of a tracker; wins over a stored token
  SIGNALBOX_BASE_URL  the service; http://127.0.0.1:3000 by default
  NO_COLOR            print without colors

Exit codes:
  0 done   1 failed   2 wrong usage   4 no valid token   5 not found
  6 refused by the service   7 try again later   130 interrupted

Examples:
  signalbox sandbox try
  signalbox auth login --base-url https://events.example
  signalbox events create --name Purchase --value 19.95 --currency EUR \\
    --email jane@example.com --consent-basis consent
  signalbox events create --file orders.csv --map total=value --dry-run
  signalbox events get order-1001
`

/** Errors are thrown instead of printed, and help is printed by the host. */
function prepareCommand(command: Command, host: CliHost): void {
  command
    .exitOverride()
    .configureOutput({
      writeOut: text => void host.stdout.write(text),
      writeErr: text => void host.stderr.write(text),
      outputError: () => {},
      getOutHelpWidth: () => host.stdout.width() ?? 80,
      getErrHelpWidth: () => host.stderr.width() ?? 80,
    })
    .configureHelp({ showGlobalOptions: true })
  for (const child of command.commands) prepareCommand(child, host)
}
