import { EmbeddedPostgresError } from '@signalbox/embedded-postgres/embedded-postgres-error.ts'
import { Command, CommanderError } from 'commander'
import { HeadCheckpointsError } from '../../audit/signed-head.ts'
import { isStoreUnavailable, UnreadableTimeError } from '../../runtime/db/database-errors.ts'
import { SchemaError } from '../../runtime/db/migrate.ts'
import { SettingsError } from '../../runtime/settings/read-settings.ts'
import { ErasureKeyError } from '../../signals/erasure/erasure-store.ts'
import {
  CredentialsFileError,
  PlatformTokenError,
  rejectTokenArgument,
} from '../provisioning/credentials-file.ts'
import { ContractKeyError, CredentialKeyError } from '../provisioning/installation-keys.ts'
import { type RoleContext, type RunningRole, StartError } from './role.ts'

/** What the command line needs of its process. */
export interface CommandHost {
  printStatus: (text: string) => void
  printOutput: (text: string) => void
  /**
   * Reads the settings, so that `--help` works without them. Logs their warnings, unless the
   * command reports them itself.
   */
  createContext: (options?: { isQuiet?: boolean }) => Promise<RoleContext>
  runUntilSignal: (start: (context: RoleContext) => Promise<RunningRole>) => Promise<void>
}

/**
 * Runs one command of `signalbox-server` and returns its exit code; a role that goes on running
 * returns 0 when it has started. Throws a StartError, in one sentence, for wrong arguments.
 */
export async function runCommandLine(
  argumentList: readonly string[],
  host: CommandHost,
): Promise<number> {
  rejectTokenArgument(argumentList)
  try {
    const program = await createProgram(argumentList, host)
    await program.parseAsync(argumentList, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode
    throw error
  }
}

/** Expected failures are one sentence; a bug shows its stack. */
export function formatFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (EXPECTED_ERRORS.some(expected => error instanceof expected)) return error.message
  return isStoreUnavailable(error) ? explainLostStore(error) : (error.stack ?? error.message)
}

/** PostgreSQL was there at the first check of a start or a command, and then was not. */
function explainLostStore(error: Error): string {
  const code = String((error as { code?: unknown }).code ?? '')
  const reason = [code, error.message.replace(/\s+/g, ' ')].filter(text => text !== '').join(': ')
  return `PostgreSQL went away (${reason}): see that it runs, then start again.`
}

const EXPECTED_ERRORS = [
  SettingsError,
  StartError,
  SchemaError,
  EmbeddedPostgresError,
  ContractKeyError,
  CredentialKeyError,
  ErasureKeyError,
  UnreadableTimeError,
  CredentialsFileError,
  PlatformTokenError,
  HeadCheckpointsError,
]

interface CommandEntry {
  description: string
  /** Loads the modules of the command, so that a short one does not load the whole service. */
  load: (host: CommandHost) => Promise<Command>
}

const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  all: {
    description: 'run everything on one machine: store, HTTP service, delivery, jobs, simulator',
    load: async host =>
      runningRole(host, async context => (await import('./run-all.ts')).runAll(context)),
  },
  serve: {
    description: 'run the HTTP service',
    load: async host =>
      runningRole(host, async context => (await import('./run-serve.ts')).runServe(context)),
  },
  deliver: {
    description: 'run a delivery worker and the jobs',
    load: async host =>
      runningRole(host, async context => (await import('./run-deliver.ts')).runDeliver(context)),
  },
  migrate: {
    description: 'bring the schema of the database up to date',
    load: async host =>
      new Command().action(async () => {
        const { runMigrate } = await import('./migrate-command.ts')
        await runMigrate(await host.createContext())
      }),
  },
  provision: {
    description: 'create a workspace with a tracker and a destination',
    load: async ({ createContext }) => {
      const { defineProvisionCommand, runProvision } = await import('./provision-command.ts')
      return defineProvisionCommand(async it => runProvision(await createContext(), it))
    },
  },
  destination: {
    description: 'connect a tracker to a platform, and list what each platform asks for',
    load: async ({ createContext }) => {
      const { defineDestinationCommand, runDestination } = await import('./destination-command.ts')
      return defineDestinationCommand(async it => runDestination(await createContext(), it))
    },
  },
  credential: {
    description: 'list, set and reseal the credentials of destinations',
    load: async ({ createContext }) => {
      const { defineCredentialCommand, runCredential } = await import('./credential-command.ts')
      return defineCredentialCommand(async it => runCredential(await createContext(), it))
    },
  },
  routing: {
    description: 'show, preview and set which events a destination gets',
    load: async ({ createContext }) => {
      const { defineRoutingCommand, runRouting } = await import('./routing-command.ts')
      return defineRoutingCommand(async it => runRouting(await createContext(), it))
    },
  },
  key: {
    description: 'list, issue and revoke the keys of a tracker',
    load: async ({ createContext }) => {
      const { defineKeyCommand, runKey } = await import('./key-command.ts')
      return defineKeyCommand(async it => runKey(await createContext(), it))
    },
  },
  tracker: {
    description: 'show and set what the consent categories of a tracker mean',
    load: async ({ createContext }) => {
      const { defineTrackerCommand, runTracker } = await import('./tracker-command.ts')
      return defineTrackerCommand(async it => runTracker(await createContext(), it))
    },
  },
  people: {
    description: 'disable and enable users and workspaces',
    load: async ({ createContext }) => {
      const { definePeopleCommand, runPeople } = await import('./people-command.ts')
      return definePeopleCommand(async it => runPeople(await createContext(), it))
    },
  },
  client: {
    description: 'list and add OAuth clients that use the device grant',
    load: async ({ createContext }) => {
      const { defineClientCommand, runClient } = await import('./client-command.ts')
      return defineClientCommand(async it => runClient(await createContext(), it))
    },
  },
  report: {
    description: 'show the reconciliation report of a day',
    load: async ({ createContext }) => {
      const { defineReportCommand, runReport } = await import('./report-command.ts')
      return defineReportCommand(async it => runReport(await createContext(), it))
    },
  },
  export: {
    description: 'write events, deliveries, reports or match quality to a file',
    load: async ({ createContext }) => {
      const { defineExportCommand, runExport } = await import('./export-command.ts')
      return defineExportCommand(async it => runExport(await createContext(), it))
    },
  },
  audit: {
    description: 'verify, export and sign the audit logs',
    load: async ({ createContext }) => {
      const { defineAuditCommand, runAudit } = await import('./audit-command.ts')
      return defineAuditCommand(async it => runAudit(await createContext(), it))
    },
  },
  doctor: {
    description: 'find misconfigurations and say what to do about them',
    load: async ({ createContext, printOutput }) => {
      const { defineDoctorCommand, runDoctorCommand } = await import('./doctor-command.ts')
      const quietly = () => createContext({ isQuiet: true })
      return defineDoctorCommand(it => runDoctorCommand(quietly, printOutput, it))
    },
  },
  campaigns: {
    description: 'list and change the simulated campaigns of an ad account',
    load: async ({ createContext }) => {
      const { defineCampaignsCommand, runCampaigns } = await import('./campaigns-command.ts')
      return defineCampaignsCommand(async it => runCampaigns(await createContext(), it))
    },
  },
}

function runningRole(
  host: CommandHost,
  start: (context: RoleContext) => Promise<RunningRole>,
): Command {
  return new Command().action(() => host.runUntilSignal(start))
}

async function createProgram(
  [first, second]: readonly string[],
  host: CommandHost,
): Promise<Command> {
  const program = new Command('signalbox-server')
    .description('Server-side conversion events: accepted once, decided by consent, delivered.')
    .addHelpText('after', `\n${HELP_FOOTER}`)
  const chosen = first === 'help' ? second : first
  for (const [name, { description, load }] of Object.entries(COMMANDS)) {
    const command = name === chosen ? await load(host) : new Command()
    program.addCommand(command.name(name).description(description))
  }
  prepareCommand(program, host)
  return program
}

const HELP_FOOTER = `Settings are environment variables, such as PORT=8080;
docs/operations/settings.md lists them.
"signalbox-server all" is the quickest start; it needs no settings.`

/** Errors become one sentence, and help is printed by the host. */
export function prepareCommand(command: Command, { printStatus, printOutput }: CommandPrinters) {
  command
    .exitOverride(error => {
      throw HELP_CODES.has(error.code) ? error : new StartError(explainMisuse(error, command))
    })
    .configureOutput({ writeOut: printOutput, writeErr: printStatus, outputError: () => {} })
  for (const child of command.commands) prepareCommand(child, { printStatus, printOutput })
}

type CommandPrinters = Pick<CommandHost, 'printStatus' | 'printOutput'>

const HELP_CODES = new Set(['commander.help', 'commander.helpDisplayed'])

/** One sentence that names the option or the argument, and what the command takes. */
function explainMisuse({ code, message }: CommanderError, command: Command): string {
  const [, quoted = ''] = /'(.*?)'/s.exec(message) ?? []
  const description = command.options.find(({ flags }) => flags === quoted)?.description
  switch (code) {
    case 'commander.unknownCommand':
      return explainUnknownCommand(quoted, command)
    case 'commander.missingMandatoryOptionValue':
      return `${quoted} is required: ${description}.`
    case 'commander.optionMissingArgument':
      return `${quoted} needs a value: ${description}.`
    case 'commander.unknownOption':
      return explainUnknownArgument(quoted, command)
    case 'commander.excessArguments':
      return explainUnknownArgument(
        command.args[command.registeredArguments.length] ?? quoted,
        command,
      )
    default:
      return `${message.replace(/^error: /, '')}.`
  }
}

function explainUnknownCommand(name: string, command: Command): string {
  const names = command.commands.map(child => child.name())
  const parent = command.parent ? ` of ${command.name()}` : ''
  return `There is no command ${name}${parent}; use one of ${names.join(', ')}.`
}

function explainUnknownArgument(given: string, command: Command): string {
  const name = command.parent?.parent
    ? `${command.parent.name()} ${command.name()}`
    : command.name()
  const options = command.options.map(({ flags }) => flags)
  if (options.length > 0) return `${name} takes ${options.join(', ')}, not ${given}.`
  return (
    `${name} takes no arguments, not ${given}: settings are environment variables, such as ` +
    'PORT=8080.'
  )
}
