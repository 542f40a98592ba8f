import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findRunningEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { EmbeddedPostgresError } from '@signalbox/embedded-postgres/embedded-postgres-error.ts'
import { Command, CommanderError } from 'commander'
import type { Database } from '../../runtime/db/database.ts'
import { SettingsError } from '../../runtime/settings/read-settings.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { listAddresses } from '../../signals/platforms/plug-ins.ts'
import { createPlatforms } from '../../signals/platforms/registry.ts'
import { checkDelivery } from '../doctor/delivery-checks.ts'
import {
  type DoctorContext,
  error,
  type Finding,
  error as foundError,
  ok,
  type Severity,
  skipped,
  warning,
} from '../doctor/finding.ts'
import { checkCredentials, checkNetwork, checkPlatforms } from '../doctor/network-checks.ts'
import { type ExplainConnectionError, examineReplica } from '../doctor/replica-checks.ts'
import { checkSettings } from '../doctor/settings-checks.ts'
import { checkStore, openForReading } from '../doctor/store-checks.ts'
import { createConnectionError } from './open-store.ts'
import type { RoleContext } from './role.ts'

export interface DoctorRequest {
  /** Print one JSON object instead of lines. */
  json: boolean
  /** Warnings count as errors. */
  strict: boolean
}

/** Exit codes: 0 no error, 1 the command itself failed, 2 an error was found. */
const EXIT_CODE_ERRORS = 2

/**
 * Prints what is misconfigured and what to do about it. A setting that cannot be read is a finding
 * too, so that this command never ends like the others would.
 */
export async function runDoctorCommand(
  createContext: () => Promise<RoleContext>,
  printOutput: (text: string) => void,
  { json, strict }: DoctorRequest,
): Promise<void> {
  const findings = await examine(createContext)
  const counts = countSeverities(findings)
  const expected = findExpectedBeforeStart(findings)
  const isHealthy = counts.error === 0 && !(strict && counts.warning > 0)
  const result = { healthy: isHealthy, counts, expected_before_start: expected, findings }
  printOutput(
    json
      ? `${JSON.stringify(result, null, 2)}\n`
      : `${formatFindings(findings, counts)}${describeExpected(expected)}`,
  )
  if (isHealthy) return
  throw new CommanderError(EXIT_CODE_ERRORS, 'signalbox.doctor', 'The doctor found errors.')
}

async function examine(createContext: () => Promise<RoleContext>): Promise<Finding[]> {
  try {
    const { settings, now } = await createContext()
    const explain = (url: string, cause: unknown) => createConnectionError(url, cause).message
    return await runDoctor({ settings, now }, explain)
  } catch (failure) {
    if (!(failure instanceof SettingsError)) throw failure
    const fix = 'Correct it; docs/operations/settings.md lists every setting with its range.'
    return [foundError('settings.values', failure.message, fix)]
  }
}

/** Warnings that the first start ends by itself. */
const ENDED_BY_START = ['store.reachable', 'store.schema', 'store.partitions']
const EXPECTED_BEFORE_START = [
  ...ENDED_BY_START,
  ...['network.public_origin', 'delivery.destinations', 'delivery.worker', 'jobs.running'],
]

/** The warnings that say nothing yet, where the service was never started. Else none. */
function findExpectedBeforeStart(findings: readonly Finding[]): string[] {
  const warned = findings.flatMap(({ check, severity }) => (severity === 'warning' ? check : []))
  if (!warned.some(check => ENDED_BY_START.includes(check))) return []
  return warned.filter(check => EXPECTED_BEFORE_START.includes(check))
}

function describeExpected(expected: readonly string[]): string {
  if (expected.length === 0) return ''
  return (
    `\nExpected before the first start: ${expected.join(', ')}.\n` +
    'Correct the rest now, start the service, and run this command again.\n'
  )
}

type SeverityCounts = Record<Severity, number>

function countSeverities(findings: readonly Finding[]): SeverityCounts {
  const counts: SeverityCounts = { ok: 0, warning: 0, error: 0, skipped: 0 }
  for (const { severity } of findings) counts[severity] += 1
  return counts
}

const SEVERITY_WIDTH = 'warning'.length
const INDENT = ' '.repeat(SEVERITY_WIDTH + 2)

/** What needs work comes last, because a terminal shows the end. */
function formatFindings(findings: readonly Finding[], counts: SeverityCounts): string {
  const order: readonly Severity[] = ['ok', 'skipped', 'warning', 'error']
  const lines = order.flatMap(severity =>
    findings.filter(finding => finding.severity === severity).map(formatFinding),
  )
  const summary = `${counts.error} errors, ${counts.warning} warnings, ${counts.ok} ok`
  const rest = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
  return `${lines.join('')}\n${summary}${rest}\n`
}

function formatFinding({ check, severity, message, fix }: Finding): string {
  const line = `${severity.padEnd(SEVERITY_WIDTH)}  ${message} [${check}]\n`
  return fix === null ? line : `${line}${INDENT}-> ${fix}\n`
}

export function defineDoctorCommand(handle: (request: DoctorRequest) => Promise<void>): Command {
  return new Command()
    .option('--json', 'print one JSON object', false)
    .option('--strict', 'count warnings as errors', false)
    .action(({ json, strict }) => handle({ json, strict }))
}

/**
 * Examines an installation for the most likely misconfigurations. Reads only: it creates no file,
 * no key and no row, and sends no event and no email. It may run while the service runs or not.
 */
async function runDoctor(
  context: DoctorContext,
  explainConnectionError: ExplainConnectionError,
): Promise<Finding[]> {
  return [
    ...checkSettings(context),
    ...checkDataFolder(context.settings),
    ...(await checkNetwork(context)),
    ...(await checkPlatforms(context)),
    ...(await examineStore(context, explainConnectionError)),
  ]
}

const CHECK = 'store.reachable'

async function examineStore(
  context: DoctorContext,
  explainConnectionError: ExplainConnectionError,
): Promise<Finding[]> {
  const { databaseUrl, dataDirectory } = context.settings
  const found = databaseUrl ?? (await findEmbedded(dataDirectory))
  if (typeof found !== 'string') return [found]
  const database = openForReading(found)
  let isOpen = false
  try {
    await database.ping()
    isOpen = true
    return await examineOpenStore(context, database, explainConnectionError)
  } catch (failure) {
    if (isOpen && (failure as { code?: unknown }).code === undefined) throw failure
    const message = explainConnectionError(found, failure)
    return [error(CHECK, message, 'Start PostgreSQL, or correct DATABASE_URL as it says.')]
  } finally {
    await database.close()
  }
}

async function examineOpenStore(
  context: DoctorContext,
  database: Database,
  explainConnectionError: ExplainConnectionError,
): Promise<Finding[]> {
  const store = await checkStore(context, database)
  if (store.server === null) {
    const message = 'Keys, destinations, workers and jobs need a current schema.'
    return [...store.findings, skipped('delivery.destinations', message)]
  }
  const delivery = await checkDelivery(context, database, store.server)
  return [
    ...store.findings,
    ...(await examineReplica(context, database, explainConnectionError)),
    ...delivery.findings,
    await checkLiveCredentials(context, delivery.opened),
  ]
}

const TIMEOUT_MILLISECONDS = 5_000

async function checkLiveCredentials(
  context: DoctorContext,
  opened: Parameters<typeof checkCredentials>[2],
): Promise<Finding> {
  const { settings, now } = context
  const named = new Set(listAddresses(settings).map(({ plugIn }) => plugIn.name))
  if (named.size === 0) return skipped('platform.credentials', 'No platform is set.')
  const timeoutMilliseconds = TIMEOUT_MILLISECONDS
  const platforms = createPlatforms({ settings, simulatorUrl: null, now, timeoutMilliseconds })
  const reachable = opened.filter(({ platform }) => named.has(platform))
  return checkCredentials(context, platforms, reachable)
}

/** The address of the embedded server, or why there is none. */
async function findEmbedded(dataDirectory: string): Promise<string | Finding> {
  try {
    const running = await findRunningEmbeddedPostgres(dataDirectory)
    if (running !== null) return running
    const message = `The embedded PostgreSQL of ${dataDirectory} does not run.`
    return warning(
      CHECK,
      message,
      'Run "signalbox-server all", or set DATABASE_URL; then run this again.',
    )
  } catch (failure) {
    if (!(failure instanceof EmbeddedPostgresError)) throw failure
    return error(CHECK, failure.message, 'Follow the sentence above; the data itself is untouched.')
  }
}

/** The folder with the generated secrets and, without `DATABASE_URL`, the store. */
function checkDataFolder({ dataDirectory }: Pick<Settings, 'dataDirectory'>): Finding[] {
  return [
    checkWritable(dataDirectory),
    checkPermissions(dataDirectory),
    checkFreeSpace(dataDirectory),
  ]
}

function checkWritable(folder: string): Finding {
  const check = 'data_folder.writable'
  const existing = nearestExisting(folder)
  try {
    if (!statSync(existing).isDirectory()) throw new Error('not a folder')
    accessSync(existing, constants.W_OK | constants.X_OK)
  } catch {
    return error(
      check,
      `This account cannot write the data folder ${folder}.`,
      'Let the account of the service write it, or set SIGNALBOX_DATA_DIR to another folder.',
    )
  }
  if (existing !== folder) return ok(check, `The first start creates the data folder ${folder}.`)
  return ok(check, `The data folder is ${folder}.`)
}

const SECRETS = ['credentials.json', 'credential-key', 'contract-key', 'outbox']
const OTHERS = 0o077

/** The files hold keys, and emails of the outbox hold links that open accounts. */
function checkPermissions(folder: string): Finding {
  const check = 'data_folder.permissions'
  const open = SECRETS.map(name => join(folder, name)).filter(
    path => existsSync(path) && (statSync(path).mode & OTHERS) !== 0,
  )
  if (open.length === 0) return ok(check, 'Only their owner can read the secrets of the folder.')
  return error(
    check,
    `Other accounts of this machine may read secrets: ${open.join(', ')}.`,
    `Run chmod go= on them, and replace the secrets if other people use this machine.`,
  )
}

const MEGABYTE = 1_048_576
const FREE_MEGABYTES = { error: 256, warning: 2_048 }
const FREE_PERCENT_WARNING = 10

function checkFreeSpace(folder: string): Finding {
  const check = 'data_folder.disk'
  const { blocks, bavail, bsize } = statfsSync(nearestExisting(folder))
  if (blocks === 0) return skipped(check, 'This file system does not say how much is free.')
  const megabytes = Math.floor((bavail * bsize) / MEGABYTE)
  const percent = Math.floor((100 * bavail) / blocks)
  const message = `${megabytes} MB are free on the disk of the data folder (${percent} %).`
  const fix = 'Free space, or move the data folder to a larger disk while the service is stopped.'
  if (megabytes < FREE_MEGABYTES.error) return error(check, message, fix)
  const isLow = megabytes < FREE_MEGABYTES.warning || percent < FREE_PERCENT_WARNING
  return isLow ? warning(check, message, fix) : ok(check, message)
}

/** The folder itself, or the one above it that the first start would create it in. */
function nearestExisting(path: string): string {
  let existing = path
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing)
  return existing
}
