import { readFileSync } from 'node:fs'
import { InvalidValue, type Setting } from './setting-types.ts'
import {
  type GivenVariable,
  listSettings,
  SETTINGS,
  type Settings,
  type SettingsTable,
} from './settings.ts'

/** An invalid setting. The message is one sentence and never contains the value of a secret. */
export class SettingsError extends Error {
  override name = 'SettingsError'
}

type Environment = Record<string, string | undefined>

/**
 * Reads and checks every setting, and those of the plug-ins' tables. Throws a SettingsError at the
 * first invalid one.
 */
export function readSettings(
  environment: Environment,
  pluginTables: readonly SettingsTable[] = [],
): Settings {
  // Each setting's own `parse` returns the type that the table declares.
  const values = {} as Record<keyof typeof SETTINGS, never>
  const pluginValues: Record<string, unknown> = {}
  const given: GivenVariable[] = []
  for (const [name, setting] of listSettings(pluginTables)) {
    const text = readGivenText(environment, setting)
    if (text !== undefined) {
      given.push({ variable: setting.variable, value: setting.isSecret ? null : text })
    }
    const value = parseValue(setting, text ?? setting.default)
    if (name in SETTINGS) values[name as keyof typeof SETTINGS] = value as never
    else pluginValues[setting.variable] = value
  }
  const warnings = warnOfUnknownVariables(environment, pluginTables)
  const settings: Settings = { ...values, pluginValues, given, warnings }
  requireWholeClient('GOOGLE', settings.googleClientId, settings.googleClientSecret)
  requireWholeClient('GITHUB', settings.githubClientId, settings.githubClientSecret)
  requireWholeProvider(settings)
  requireRetentionOrder(settings)
  return settings
}

/** An empty value counts as unset, as in a compose file with `NAME=`. */
function readGivenText(
  environment: Environment,
  { variable, isSecret }: Setting<unknown>,
): string | undefined {
  const given = environment[variable]?.trim() || undefined
  const path = environment[`${variable}_FILE`]?.trim() || undefined
  if (!path || !isSecret) return given
  if (given) throw new SettingsError(`Set ${variable} or ${variable}_FILE, not both.`)
  try {
    return readFileSync(path, 'utf8').trim() || undefined
  } catch (cause) {
    throw new SettingsError(`${variable}_FILE names a file that cannot be read: ${path}.`, {
      cause,
    })
  }
}

function parseValue({ variable, isSecret, parse }: Setting<unknown>, text: string | null) {
  if (text === null) return undefined
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error
    const shown = isSecret ? '' : `, not ${JSON.stringify(text)}`
    throw new SettingsError(`${variable} must ${error.message}${shown}.`)
  }
}

/** With half of an OAuth client, the first error would appear at sign-in. */
function requireWholeClient(provider: string, clientId?: string, clientSecret?: string): void {
  if ((clientId === undefined) === (clientSecret === undefined)) return
  const id = `SIGNALBOX_${provider}_CLIENT_ID`
  const secret = `SIGNALBOX_${provider}_CLIENT_SECRET`
  throw new SettingsError(`Set both ${id} and ${secret}, or neither.`)
}

/** Without a client nobody can sign in, and without domains everybody of the provider could. */
function requireWholeProvider(settings: Settings): void {
  const { oidcIssuer, oidcClientId, oidcClientSecret, oidcDomains } = settings
  const parts = [oidcIssuer, oidcClientId, oidcClientSecret, oidcDomains[0]]
  if (parts.every(part => part === undefined) || parts.every(part => part !== undefined)) return
  throw new SettingsError(
    'Set SIGNALBOX_OIDC_ISSUER, SIGNALBOX_OIDC_CLIENT_ID, SIGNALBOX_OIDC_CLIENT_SECRET and ' +
      'SIGNALBOX_OIDC_DOMAINS, or none of them.',
  )
}

const DAYS_PER_MONTH_MIN = 28

/** An event is never deleted before its identity, even when the months are short. */
function requireRetentionOrder({ payloadRetentionDays, ledgerRetentionMonths }: Settings): void {
  const monthsMin = Math.ceil(payloadRetentionDays / DAYS_PER_MONTH_MIN)
  if (ledgerRetentionMonths >= monthsMin) return
  throw new SettingsError(
    `SIGNALBOX_LEDGER_RETENTION_MONTHS must be at least ${monthsMin} when ` +
      `SIGNALBOX_PAYLOAD_RETENTION_DAYS is ${payloadRetentionDays}.`,
  )
}

/** Renamed settings, old to new. The old name has no effect, and the warning names the new one. */
const RENAMED: Record<string, string> = {
  SIGNALBOX_DELIVERY_LANE_REQUESTS_MAX: 'SIGNALBOX_DELIVERY_DESTINATION_REQUESTS_MAX',
}

function warnOfUnknownVariables(
  environment: Environment,
  pluginTables: readonly SettingsTable[],
): string[] {
  const known = listSettings(pluginTables).flatMap(([, { variable, isSecret }]) =>
    isSecret ? [variable, `${variable}_FILE`] : [variable],
  )
  return Object.keys(environment)
    .filter(name => name.startsWith('SIGNALBOX_') && !known.includes(name))
    .map(name => {
      const newName = RENAMED[name]
      if (newName) return `${name} has no effect: it is now ${newName}.`
      const nearest = findNearestName(name, known)
      return `${name} is not a setting${nearest ? `; did you mean ${nearest}?` : '.'}`
    })
}

const DISTANCE_MAX = 4

/** The candidate with the fewest edits (Levenshtein) from `name`, or null when none is near. */
function findNearestName(name: string, candidates: readonly string[]): string | null {
  const ranked = candidates
    .map(candidate => ({ candidate, distance: editDistance(name, candidate) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best && best.distance <= DISTANCE_MAX ? best.candidate : null
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}

/** Beyond this, more workers only make smaller commits. */
const DEFAULT_MAX = 8
/** The smallest pool that serves reads during a commit. */
const CONNECTIONS_MIN = 4

/** The number of HTTP worker threads. 0: the main thread serves HTTP, as it does on one core. */
export function countHttpWorkers(
  { httpWorkers }: Pick<Settings, 'httpWorkers'>,
  { cores, canReusePort }: { cores: number; canReusePort: boolean },
): number {
  if (cores <= 1) return 0
  const wanted = httpWorkers ?? Math.min(DEFAULT_MAX, Math.max(1, cores - 1))
  return canReusePort ? wanted : Math.min(1, wanted)
}

/** Each worker's share of the database connections of the process. */
export function divideConnections(connectionsMax: number, workers: number): number {
  return Math.max(CONNECTIONS_MIN, Math.ceil(connectionsMax / workers))
}

/** The database connections of all threads that serve HTTP. */
export function countHttpConnections(connectionsMax: number, workers: number): number {
  return workers === 0 ? connectionsMax : workers * divideConnections(connectionsMax, workers)
}
