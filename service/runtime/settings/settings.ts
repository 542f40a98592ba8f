import { resolve } from 'node:path'
import { REPLICA_SETTINGS, REQUEST_RATE_SETTINGS, TRACING_SETTINGS } from './operation-settings.ts'
import {
  choice,
  integer,
  list,
  matching,
  networks,
  postgresUrl,
  type Setting,
  type SettingValue,
  text,
  toggle,
  url,
} from './setting-types.ts'
import { SIGN_IN_SETTINGS } from './sign-in-settings.ts'

/** Meta accepts some events for 62 days, and an event needs its identity while it may be sent. */
export const PAYLOAD_RETENTION_DAYS_MIN = 63

/** A lease that ends later was written by a clock that has been set back since. */
export const LEASE_SECONDS_MAX = 3_600

/**
 * Every setting that is not a plug-in's, once: name, environment variable, range, default and
 * description. The type `Settings`, the checks at the start and `docs/operations/settings.md` are
 * derived from it and from the tables of the plug-ins.
 */
export const SETTINGS = {
  port: integer('PORT', {
    default: 3_000,
    max: 65_535,
    description: 'Port of the HTTP service. 0 takes any free port.',
  }),
  host: text('HOST', {
    default: '127.0.0.1',
    description: 'Address that the HTTP service listens on.',
  }),
  httpWorkers: integer('SIGNALBOX_HTTP_WORKERS', {
    max: 64,
    description: 'HTTP worker threads. 0: none. Unset: one less than the CPU cores, from 1 to 8.',
  }),
  logLevel: choice('LOG_LEVEL', {
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    description: 'Lowest severity that is logged. `debug` logs every request.',
  }),
  logFormat: choice('LOG_FORMAT', {
    choices: ['json', 'pretty'],
    description: 'Format of the log. Unset: `pretty` on a terminal, `json` otherwise.',
  }),
  databaseUrl: postgresUrl('DATABASE_URL', {
    description: 'PostgreSQL 15 to 18. Unset: the embedded PostgreSQL in the data folder.',
  }),
  ...REPLICA_SETTINGS,
  dataDirectory: {
    ...text('SIGNALBOX_DATA_DIR', {
      default: '.data',
      description: 'Folder of the embedded database, credentials.json and generated secrets.',
    }),
    parse: (given: string) => resolve(given),
  },
  databasePort: integer('SIGNALBOX_DATABASE_PORT', {
    default: 0,
    max: 65_535,
    description: 'Port of the embedded PostgreSQL on 127.0.0.1. 0 takes any free port.',
  }),
  databaseConnectionsMax: integer('SIGNALBOX_DATABASE_CONNECTIONS_MAX', {
    default: 10,
    min: 4,
    max: 200,
    description: 'Connections for HTTP, and as many for delivery. Each HTTP worker has at least 4.',
  }),
  postgresBinariesFolder: text('SIGNALBOX_POSTGRES_BIN', {
    description: 'Folder of a PostgreSQL 18 that runs instead of the one from npm. Unset: npm.',
  }),
  demo: choice('SIGNALBOX_DEMO', {
    choices: ['on', 'off'],
    description:
      'Demo workspace in an empty store. Unset: `on` with the embedded PostgreSQL, else `off`.',
  }),
  publicOrigin: url('SIGNALBOX_PUBLIC_ORIGIN', {
    part: given => new URL(given).origin,
    description: 'Origin of the absolute URLs in responses. Unset: http://HOST:PORT.',
  }),
  trustedProxies: networks('SIGNALBOX_TRUSTED_PROXIES', {
    description: 'Proxies whose X-Forwarded-For is trusted for the client address. Unset: none.',
  }),
  additionalConsentProvider: integer('SIGNALBOX_ADDITIONAL_CONSENT_PROVIDER', {
    min: 1,
    max: 99_999,
    description:
      "Meta's id among Google's ad technology providers, required in Additional Consent strings. " +
      'Unset: they are not looked at.',
  }),
  simulatorPort: integer('SIGNALBOX_SIMULATOR_PORT', {
    default: 0,
    max: 65_535,
    description: 'Port of the simulator. 0 takes PORT + 1, or any free port.',
  }),
  metricsPort: integer('SIGNALBOX_METRICS_PORT', {
    default: 0,
    max: 65_535,
    description: 'Port of the metrics. 0 takes PORT + 2, or any free port.',
  }),
  metricsHost: text('SIGNALBOX_METRICS_HOST', {
    default: '127.0.0.1',
    description: 'Address that the metrics listen on. Do not make them public.',
  }),
  ...TRACING_SETTINGS,
  credentialKey: matching('SIGNALBOX_CREDENTIAL_KEY', {
    pattern: /^[0-9a-fA-F]{64}$/,
    requirement: 'be 64 hexadecimal characters (openssl rand -hex 32)',
    isSecret: true,
    description: 'Encrypts platform credentials at rest. Unset: generated in the data folder.',
  }),
  credentialKeysPrevious: list('SIGNALBOX_CREDENTIAL_KEY_PREVIOUS', {
    pattern: /^[0-9a-fA-F]{64}(\s*,\s*[0-9a-fA-F]{64}){0,7}$/,
    requirement: 'be 1 to 8 comma-separated keys of 64 hexadecimal characters',
    isSecret: true,
    description: 'Previous keys that still decrypt while the key rotates.',
  }),
  contractKey: matching('SIGNALBOX_CONTRACT_KEY', {
    pattern: /^(\{.*\}|-----BEGIN PRIVATE KEY-----.*)$/s,
    requirement: 'be an Ed25519 private key, as a JWK or as PKCS#8 in PEM',
    isSecret: true,
    description: 'Signs the served contract. Unset: a development key in the data folder.',
  }),
  contractKeysPrevious: matching('SIGNALBOX_CONTRACT_KEY_PREVIOUS', {
    pattern: /^\{.*\}$/s,
    requirement: 'be a JWK set of Ed25519 public keys',
    isSecret: true,
    description: 'Previous public keys that are still published while the key rotates.',
  }),
  securityContact: matching('SIGNALBOX_SECURITY_CONTACT', {
    pattern: /^(mailto:[^\s@]+@[^\s@]+|https:\/\/[^\s/]+\S*|tel:\+?[\d-]+)$/,
    requirement: 'be a mailto:, https: or tel: address',
    description: 'Where to report a vulnerability, in /.well-known/security.txt. Unset: no file.',
  }),
  ingestQueueMax: integer('SIGNALBOX_INGEST_QUEUE_MAX', {
    default: 10_000,
    min: 1,
    max: 1_000_000,
    description: 'Events that may wait for a commit. Above it, new events get 503.',
  }),
  commitEventsMax: integer('SIGNALBOX_COMMIT_EVENTS_MAX', {
    default: 1_000,
    min: 1,
    max: 5_000,
    description: 'Events in one commit.',
  }),
  ...REQUEST_RATE_SETTINGS,
  ...SIGN_IN_SETTINGS,
  eventLoopDelayMillisecondsMax: integer('SIGNALBOX_EVENT_LOOP_DELAY_MILLISECONDS_MAX', {
    default: 1_000,
    max: 60_000,
    description: 'Event loop delay above which new requests get 503. 0: never.',
  }),
  deliveryBatchMax: integer('SIGNALBOX_DELIVERY_BATCH_MAX', {
    default: 1_000,
    min: 1,
    max: 1_000,
    description: 'Events in one request to the platform (Meta allows 1,000).',
  }),
  deliveryRequestsPerDestinationMax: integer('SIGNALBOX_DELIVERY_DESTINATION_REQUESTS_MAX', {
    default: 2,
    min: 1,
    max: 16,
    description: 'Requests in flight per destination and process; 1 while its circuit is open.',
  }),
  deliveryRequestsMax: integer('SIGNALBOX_DELIVERY_REQUESTS_MAX', {
    default: 8,
    min: 1,
    max: 256,
    description: 'Requests in flight per process. Keep it below the number of connections.',
  }),
  deliveryLeaseSeconds: integer('SIGNALBOX_DELIVERY_LEASE_SECONDS', {
    default: 60,
    min: 15,
    max: LEASE_SECONDS_MAX,
    description: 'After this time, another worker takes over the deliveries of a dead worker.',
  }),
  pageHoldSeconds: integer('SIGNALBOX_PAGE_HOLD_SECONDS', {
    default: 900,
    max: 86_400,
    description:
      "How long a page's event waits for the same event of the tracker secret, which then counts.",
  }),
  deliveryPollSeconds: integer('SIGNALBOX_DELIVERY_POLL_SECONDS', {
    default: 2,
    min: 1,
    max: 60,
    description: 'How often an idle worker polls for due deliveries.',
  }),
  areJobsOn: toggle('SIGNALBOX_JOBS', {
    default: true,
    description: 'Whether `all` and `deliver` run jobs. At least one process must.',
  }),
  testModeHours: integer('SIGNALBOX_TEST_MODE_HOURS', {
    default: 24,
    min: 1,
    max: 168,
    description: 'After this time, test mode of a destination ends automatically.',
  }),
  policyWaitHours: integer('SIGNALBOX_POLICY_WAIT_HOURS', {
    default: 24,
    min: 1,
    max: 168,
    description:
      'How long a policy that permits agents more waits, unless another owner confirms it.',
  }),
  payloadRetentionDays: integer('SIGNALBOX_PAYLOAD_RETENTION_DAYS', {
    default: 90,
    min: PAYLOAD_RETENTION_DAYS_MIN,
    max: 3_650,
    description: 'Days that identity is kept. At least 63: Meta accepts some events for 62 days.',
  }),
  ledgerRetentionMonths: integer('SIGNALBOX_LEDGER_RETENTION_MONTHS', {
    default: 25,
    min: 3,
    max: 240,
    description: 'Months that events, deliveries and reports are kept. Not less than identity.',
  }),
  attemptRetentionDays: integer('SIGNALBOX_ATTEMPT_RETENTION_DAYS', {
    default: 90,
    min: 1,
    max: 3_650,
    description: 'Days that requests to the platform and their responses are kept.',
  }),
  securityEventRetentionDays: integer('SIGNALBOX_SECURITY_EVENT_RETENTION_DAYS', {
    default: 90,
    min: 1,
    max: 3_650,
    description: 'Days that sign-ins and their failures are kept, with the address of the client.',
  }),
}

type SettingName = keyof typeof SETTINGS

/** Settings by name. A plug-in has a table of its own, in its folder. */
export type SettingsTable = Readonly<Record<string, Setting<unknown>>>

/** On the page, the settings of plug-ins stand before this one. */
const AFTER_PLUG_INS: SettingName = 'additionalConsentProvider'

/** All settings with their names, in the order of the page. */
export function listSettings(
  pluginTables: readonly SettingsTable[],
): (readonly [name: string, setting: Setting<unknown>])[] {
  const own = Object.entries<Setting<unknown>>(SETTINGS)
  const before = own.findIndex(([name]) => name === AFTER_PLUG_INS)
  const ofPlugIns = pluginTables.flatMap(table => Object.entries(table))
  return own.toSpliced(before, 0, ...ofPlugIns)
}

/** The value of a plug-in's setting; its default where the environment was not read for it. */
export function readPluginSetting<Kind extends Setting<unknown>>(
  { pluginValues }: Pick<Settings, 'pluginValues'>,
  setting: Kind,
): SettingValue<Kind> {
  const { variable, default: preset, parse } = setting
  const value = variable in pluginValues ? pluginValues[variable] : preset && parse(preset)
  // The table that read the value is the one that types it.
  return (value ?? undefined) as SettingValue<Kind>
}

/** The settings of a running program. Times are in seconds unless the name has another unit. */
export type Settings = { [Name in SettingName]: SettingValue<(typeof SETTINGS)[Name]> } & {
  /** The values of the plug-ins' settings, by variable: see `readPluginSetting`. */
  pluginValues: Readonly<Record<string, unknown>>
  /** Sentences about unknown variables. They never stop the start. */
  warnings: string[]
  given: readonly GivenVariable[]
}

/** A variable that is set; the value of a secret is null. */
export interface GivenVariable {
  variable: string
  value: string | null
}
