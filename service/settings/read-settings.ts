import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Settings, SocialClient } from './settings.ts'
import { parseNetworks, type Variable } from './variable.ts'
import { VARIABLES, type VariableName } from './variables.ts'

/** A setting that stops the start. The message is one sentence and never holds a secret's value. */
export class SettingsError extends Error {
  override name = 'SettingsError'
}

type Environment = Record<string, string | undefined>

/** Reads and checks every variable. Throws a SettingsError at the first wrong one. */
export function readSettings(environment: Environment): Settings {
  const text = (name: VariableName) => readVariable(environment, name)
  const integer = (name: VariableName) => Number(text(name))
  const optionalInteger = (name: VariableName) => (text(name) ? integer(name) : undefined)
  const origin = text('SIGNALBOX_PUBLIC_ORIGIN')
  const proxies = text('SIGNALBOX_TRUSTED_PROXIES')
  return {
    port: integer('PORT'),
    host: text('HOST') ?? '',
    httpWorkers: optionalInteger('SIGNALBOX_HTTP_WORKERS'),
    logLevel: text('LOG_LEVEL') ?? '',
    databaseUrl: text('DATABASE_URL'),
    dataDirectory: resolve(text('SIGNALBOX_DATA_DIR') ?? ''),
    databasePort: integer('SIGNALBOX_DATABASE_PORT'),
    databaseConnectionsMax: integer('SIGNALBOX_DATABASE_CONNECTIONS_MAX'),
    publicOrigin: origin === undefined ? undefined : new URL(origin).origin,
    trustedProxies: (proxies && parseNetworks(proxies)) || [],
    platformUrl: text('SIGNALBOX_PLATFORM_URL')?.replace(/\/+$/, ''),
    platformVersion: text('SIGNALBOX_PLATFORM_VERSION') ?? '',
    simulatorPort: integer('SIGNALBOX_SIMULATOR_PORT'),
    metricsPort: integer('SIGNALBOX_METRICS_PORT'),
    metricsHost: text('SIGNALBOX_METRICS_HOST') ?? '',
    credentialKey: text('SIGNALBOX_CREDENTIAL_KEY'),
    credentialKeysPrevious: text('SIGNALBOX_CREDENTIAL_KEY_PREVIOUS')?.split(/\s*,\s*/) ?? [],
    contractKey: text('SIGNALBOX_CONTRACT_KEY'),
    contractKeysPrevious: text('SIGNALBOX_CONTRACT_KEY_PREVIOUS'),
    securityContact: text('SIGNALBOX_SECURITY_CONTACT'),
    ingestQueueMax: integer('SIGNALBOX_INGEST_QUEUE_MAX'),
    commitEventsMax: integer('SIGNALBOX_COMMIT_EVENTS_MAX'),
    trackerRatePerSecond: integer('SIGNALBOX_TRACKER_RATE_PER_SECOND'),
    sandboxRatePerMinute: integer('SIGNALBOX_SANDBOX_RATE_PER_MINUTE'),
    failedAuthRatePerMinute: integer('SIGNALBOX_FAILED_AUTH_RATE_PER_MINUTE'),
    signInRatePerMinute: integer('SIGNALBOX_SIGN_IN_RATE_PER_MINUTE'),
    registrationRatePerMinute: integer('SIGNALBOX_REGISTRATION_RATE_PER_MINUTE'),
    oauthRatePerMinute: integer('SIGNALBOX_OAUTH_RATE_PER_MINUTE'),
    userCodeRatePerMinute: integer('SIGNALBOX_USER_CODE_RATE_PER_MINUTE'),
    agentRatePerMinute: integer('SIGNALBOX_AGENT_RATE_PER_MINUTE'),
    nativeSchemes: (text('SIGNALBOX_NATIVE_SCHEMES') ?? '').split(/\s*,\s*/),
    mcpOrigins: (text('SIGNALBOX_MCP_ORIGINS') ?? '').split(/\s*,\s*/).filter(Boolean),
    mailUrl: text('SIGNALBOX_MAIL_URL'),
    mailFrom: text('SIGNALBOX_MAIL_FROM') ?? '',
    googleClient: readSocialClient(environment, 'GOOGLE'),
    githubClient: readSocialClient(environment, 'GITHUB'),
    eventLoopDelayMillisecondsMax: integer('SIGNALBOX_EVENT_LOOP_DELAY_MILLISECONDS_MAX'),
    deliveryBatchMax: integer('SIGNALBOX_DELIVERY_BATCH_MAX'),
    deliveryRequestsPerDestinationMax: integer('SIGNALBOX_DELIVERY_LANE_REQUESTS_MAX'),
    deliveryRequestsMax: integer('SIGNALBOX_DELIVERY_REQUESTS_MAX'),
    deliveryLeaseSeconds: integer('SIGNALBOX_DELIVERY_LEASE_SECONDS'),
    deliveryPollSeconds: integer('SIGNALBOX_DELIVERY_POLL_SECONDS'),
    areJobsOn: text('SIGNALBOX_JOBS') === 'on',
    testModeHours: integer('SIGNALBOX_TEST_MODE_HOURS'),
    ...readRetention(integer),
    warnings: warnOfUnknownVariables(environment),
    givenVariables: variableNames().filter(name => readRawText(environment, name) !== undefined),
    textOf: name => (isSecret(name) ? undefined : readRawText(environment, name)),
  }
}

/** Both or none: half of a client would only be noticed by whoever tries to sign in. */
function readSocialClient(
  environment: Environment,
  provider: 'GOOGLE' | 'GITHUB',
): SocialClient | undefined {
  const names = [`SIGNALBOX_${provider}_CLIENT_ID`, `SIGNALBOX_${provider}_CLIENT_SECRET`] as const
  const [clientId, clientSecret] = names.map(name => readVariable(environment, name))
  if (clientId && clientSecret) return { clientId, clientSecret }
  if (!clientId && !clientSecret) return undefined
  throw new SettingsError(`Set ${names[0]} and ${names[1]}, both or none.`)
}

const DAYS_OF_MONTH_MIN = 28

/** An event may not go before the identity that belongs to it, whatever months come together. */
function readRetention(integer: (name: VariableName) => number) {
  const payloadRetentionDays = integer('SIGNALBOX_PAYLOAD_RETENTION_DAYS')
  const ledgerRetentionMonths = integer('SIGNALBOX_LEDGER_RETENTION_MONTHS')
  const monthsMin = Math.ceil(payloadRetentionDays / DAYS_OF_MONTH_MIN)
  if (ledgerRetentionMonths < monthsMin) {
    throw new SettingsError(
      `SIGNALBOX_LEDGER_RETENTION_MONTHS must be at least ${monthsMin} when ` +
        `SIGNALBOX_PAYLOAD_RETENTION_DAYS is ${payloadRetentionDays}.`,
    )
  }
  return {
    payloadRetentionDays,
    ledgerRetentionMonths,
    attemptRetentionDays: integer('SIGNALBOX_ATTEMPT_RETENTION_DAYS'),
  }
}

function readVariable(environment: Environment, name: VariableName): string | undefined {
  const variable: Variable = VARIABLES[name]
  const given = readRawText(environment, name)
  const text = given ?? variable.default
  if (text === undefined) return undefined
  const fault = findValueFault(variable, text)
  if (fault === null) return text
  const shown = variable.secret ? '' : `, not ${JSON.stringify(text)}`
  throw new SettingsError(`${name} must ${fault}${shown}.`)
}

/** An empty value counts as unset, as in a compose file with `NAME=`. */
function readRawText(environment: Environment, name: VariableName): string | undefined {
  const given = environment[name]?.trim() || undefined
  const path = environment[`${name}_FILE`]?.trim() || undefined
  if (!path || !isSecret(name)) return given
  if (given) throw new SettingsError(`Set ${name} or ${name}_FILE, not both.`)
  try {
    return readFileSync(path, 'utf8').trim() || undefined
  } catch (cause) {
    throw new SettingsError(`${name}_FILE names a file that cannot be read: ${path}.`, { cause })
  }
}

function findValueFault(variable: Variable, text: string): string | null {
  switch (variable.kind) {
    case 'text':
      return null
    case 'integer': {
      const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = variable
      const inRange = /^\d+$/.test(text) && Number(text) >= minimum && Number(text) <= maximum
      return inRange ? null : `be a whole number from ${minimum} to ${maximum}`
    }
    case 'url':
      return URL.canParse(text) ? null : 'be an absolute URL'
    case 'choice':
      return variable.choices?.includes(text) ? null : `be one of ${variable.choices?.join(', ')}`
    case 'networks':
      return parseNetworks(text) ? null : 'be addresses or ranges such as 10.0.0.0/8, 192.0.2.7'
    case 'pattern':
      return variable.pattern?.test(text) ? null : (variable.patternMeaning ?? 'match its pattern')
  }
}

function warnOfUnknownVariables(environment: Environment): string[] {
  const known = variableNames().flatMap(name => (isSecret(name) ? [name, `${name}_FILE`] : [name]))
  return Object.keys(environment)
    .filter(name => name.startsWith('SIGNALBOX_') && !known.includes(name))
    .map(name => {
      const near = findNearestName(name, known)
      return `${name} is not a setting${near ? `; did you mean ${near}?` : '.'}`
    })
}

function variableNames(): VariableName[] {
  return Object.keys(VARIABLES) as VariableName[]
}

function isSecret(name: VariableName): boolean {
  const variable: Variable = VARIABLES[name]
  return variable.secret === true
}

const DISTANCE_MAX = 4

/** The candidate that is fewest edits (Levenshtein) away from `word`, or null when none is near. */
function findNearestName(word: string, candidates: readonly string[]): string | null {
  const ranked = candidates
    .map(candidate => ({ candidate, distance: editDistance(word, candidate) }))
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
