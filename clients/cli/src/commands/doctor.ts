import { API_VERSION } from '@signalbox/contract/api-version.ts'
import type { EventList, ReconciliationReport } from '@signalbox/sdk'
import { EXIT_CODES, type ExitCode } from '../cli-error.ts'
import type { CommandContext, DefineGroup, Handler } from '../command-context.ts'
import { type Connection, LOGIN_HINT, maskToken } from '../connection.ts'
import { exitCodeOf } from '../exit-codes.ts'
import { printable } from '../output/style.ts'
import { yesterday } from '../output/times.ts'
import { connectionHint } from '../report-error.ts'

export const defineDoctor: DefineGroup = (group, run) => {
  group.action(run(diagnose))
}

interface Check {
  name: string
  state: 'ok' | 'warning' | 'failed'
  message: string
  /** What to do; null when nothing is. */
  hint: string | null
  exitCode: ExitCode
}

/** `doctor`: each check in one line, and what to do about it. */
const diagnose: Handler<object> = async context => {
  const checks = await runChecks(context)
  if (context.isJson) {
    await context.printJson({
      checks: checks.map(({ exitCode: _exitCode, ...check }) => check),
    })
  } else {
    for (const check of checks) await context.print(formatCheck(check, context))
  }
  return checks.find(({ state }) => state === 'failed')?.exitCode
}

async function runChecks(context: CommandContext): Promise<Check[]> {
  const { host } = context
  const connection = await context.connection()
  const { baseUrl, token } = connection
  const service = await readContract(baseUrl, host.signal)
  const url = checkUrl(connection, service)
  if (!('version' in service)) return [url]
  const checks = [url, checkContract(service), checkClock(service, host.now())]
  if (token === null) {
    const message = 'There is no token for this service.'
    return [...checks, fail('Token', message, LOGIN_HINT, EXIT_CODES.authentication)]
  }
  const client = context.createClient({ baseUrl, token })
  const { signal } = host
  try {
    const list = await client.events.list({ per_page: 25 }, { signal })
    const day = yesterday(host.now())
    const { reports } = await client.reports.reconciliation({ date: day }, { signal })
    const used = `${maskToken(token)} (${connection.tokenSource}) works.`
    return [...checks, ok('Token', used), checkDestination(list, reports)]
  } catch (error) {
    const message = printable(error instanceof Error ? error.message : String(error))
    return [...checks, fail('Token', message, LOGIN_HINT, exitCodeOf(error))]
  }
}

interface ServiceFacts {
  version: string | null
  date: string | null
}

const TIMEOUT_MILLISECONDS = 10_000

/** The contract of the service, which needs no token. */
async function readContract(
  baseUrl: string,
  signal: AbortSignal,
): Promise<ServiceFacts | { error: unknown }> {
  try {
    const response = await fetch(new URL('/openapi.json', baseUrl), {
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MILLISECONDS)]),
    })
    const body = response.ok ? await response.json() : null
    const { version } = (body as { info?: { version?: unknown } } | null)?.info ?? {}
    return {
      version: typeof version === 'string' ? version : null,
      date: response.headers.get('date'),
    }
  } catch (error) {
    signal.throwIfAborted()
    return { error }
  }
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

function checkUrl(
  { baseUrl, baseUrlSource }: Connection,
  service: ServiceFacts | { error: unknown },
): Check {
  const where = `${baseUrl} (${baseUrlSource})`
  if ('error' in service) {
    const hint = connectionHint(service.error).replace(' See: signalbox doctor', '')
    const advice = hint.startsWith('See:') ? 'Check the address and the network.' : hint
    return fail('Address', `${where} cannot be reached.`, advice, EXIT_CODES.tryLater)
  }
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === 'http:' && !LOOPBACK.test(hostname)) {
    const message = `${where} answers, without encryption.`
    return warn('Address', message, 'Anyone on the way can read the token: use https.')
  }
  return ok('Address', `${where} answers.`)
}

function checkContract({ version }: ServiceFacts): Check {
  if (version === API_VERSION) {
    return ok('Contract', `Service and program have version ${API_VERSION} of the contract.`)
  }
  if (version === null) {
    const message = 'This is no Signalbox: it has no contract at /openapi.json.'
    return fail('Contract', message, 'Check the base URL.', EXIT_CODES.failure)
  }
  const found = `The service has version ${printable(version)} of the contract`
  const message = `${found}, this program ${API_VERSION}.`
  return warn(
    'Contract',
    message,
    'Install the version of signalbox that was released with the service.',
  )
}

/** Events from the future are refused from five minutes on. */
const SKEW_SECONDS_MAX = 300
const SKEW_SECONDS_NOTED = 30

function checkClock({ date }: ServiceFacts, now: Date): Check {
  const seconds = Math.round((now.getTime() - Date.parse(date ?? '')) / 1_000)
  if (Number.isNaN(seconds)) return warn('Clock', 'The service does not tell its time.', null)
  const direction = seconds > 0 ? 'ahead of' : 'behind'
  const message = `This clock is ${Math.abs(seconds)} seconds ${direction} that of the service.`
  const hint = 'Set the clock of this machine; events more than 5 minutes ahead are refused.'
  if (Math.abs(seconds) > SKEW_SECONDS_MAX) {
    return fail('Clock', message, hint, EXIT_CODES.failure)
  }
  if (Math.abs(seconds) > SKEW_SECONDS_NOTED) return warn('Clock', message, hint)
  return ok('Clock', 'It agrees with that of the service.')
}

/** What the newest events and yesterday's report say about the destinations of the tracker. */
function checkDestination(
  { events, metrics }: EventList,
  reports: readonly ReconciliationReport[],
): Check {
  const inactive = reports.find(({ destination }) => destination?.status === 'inactive')
  if (inactive) {
    const { id, config } = inactive.destination
    const reason = printable(String(config?.status_reason ?? 'unknown'))
    const hint = 'In the dashboard, resume it if a person paused it, or replace its token.'
    return fail('Destination', `${id} is inactive: ${reason}.`, hint, EXIT_CODES.failure)
  }
  const deliveries = events.data.flatMap(event => event.deliveries ?? [])
  const [newest] = deliveries
  if (newest === undefined) {
    const hint = 'Send one: signalbox events create --help'
    return warn('Destination', 'No event was planned for one yet.', hint)
  }
  if (newest.status === 'skipped:no_destination') {
    const hint = 'Connect one in the dashboard, under Destinations.'
    return fail('Destination', 'The tracker has none.', hint, EXIT_CODES.failure)
  }
  if (newest.status.startsWith('failed')) {
    const hint = `Why: signalbox events get ${printable(newest.event_id)}`
    const message = `The newest delivery is ${printable(newest.status)}.`
    return fail('Destination', message, hint, EXIT_CODES.failure)
  }
  const test = reports.find(({ destination }) => destination?.config?.test_mode_until)
  if (test || newest.is_test) {
    const id = test?.destination_id ?? newest.destination_id
    const hint = `Turn it off: signalbox destinations test-mode ${id} off`
    return warn('Destination', 'Test mode is on, so events do not count.', hint)
  }
  const rate = metrics?.acceptance_rate
  const accepted =
    typeof rate === 'number' ? ` ${(rate * 100).toFixed(1)} % accepted in 7 days.` : ''
  return ok('Destination', `The newest delivery is ${printable(newest.status)}.${accepted}`)
}

function formatCheck({ name, state, message, hint }: Check, { style }: CommandContext): string {
  const [color, mark] = (
    {
      ok: ['green', '✓'],
      warning: ['yellow', '!'],
      failed: ['red', '✗'],
    } as const
  )[state]
  const advice = hint === null ? '' : `${' '.repeat(15)}${hint}\n`
  return `${style(color, mark)} ${style('bold', name.padEnd(11))}  ${message}\n${advice}`
}

function ok(name: string, message: string): Check {
  return { name, state: 'ok', message, hint: null, exitCode: 0 }
}

function warn(name: string, message: string, hint: string | null): Check {
  return { name, state: 'warning', message, hint, exitCode: 0 }
}

function fail(name: string, message: string, hint: string, exitCode: ExitCode): Check {
  return { name, state: 'failed', message, hint, exitCode }
}
