/** How one variable is read. `secret` values are never printed, only "set" or "unset". */
export interface Variable {
  kind: 'integer' | 'text' | 'url' | 'choice' | 'pattern' | 'networks'
  default: string | undefined
  meaning: string
  secret?: true
  minimum?: number
  maximum?: number
  choices?: readonly string[]
  pattern?: RegExp
  patternMeaning?: string
}

/**
 * Every variable that the service reads, once. `docs/operations/settings.md` is printed from this
 * table. A secret may also come from a file: NAME_FILE holds its path.
 */
export const VARIABLES = {
  PORT: {
    kind: 'integer',
    default: '3000',
    minimum: 0,
    maximum: 65_535,
    meaning: 'Port of the HTTP service; 0 takes any free one.',
  },
  HOST: { kind: 'text', default: '127.0.0.1', meaning: 'Address the HTTP service listens on.' },
  LOG_LEVEL: {
    kind: 'choice',
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    meaning: 'Least severity that is logged. `debug` logs every request.',
  },
  DATABASE_URL: {
    kind: 'url',
    default: undefined,
    secret: true,
    meaning: 'PostgreSQL 15 to 18. Unset: the embedded PostgreSQL below the data folder.',
  },
  SIGNALBOX_DATA_DIR: {
    kind: 'text',
    default: '.data',
    meaning: 'Folder of the embedded store, of credentials.json and of generated secrets.',
  },
  SIGNALBOX_DATABASE_PORT: {
    kind: 'integer',
    default: '0',
    minimum: 0,
    maximum: 65_535,
    meaning: 'Port of the embedded PostgreSQL on 127.0.0.1; 0 takes any free one.',
  },
  SIGNALBOX_DATABASE_CONNECTIONS_MAX: {
    kind: 'integer',
    default: '10',
    minimum: 4,
    maximum: 200,
    meaning: 'Connections that one process may hold.',
  },
  SIGNALBOX_PUBLIC_ORIGIN: {
    kind: 'url',
    default: undefined,
    meaning: 'Origin in every absolute URL we write. Unset: http://HOST:PORT.',
  },
  SIGNALBOX_TRUSTED_PROXIES: {
    kind: 'networks',
    default: undefined,
    meaning: 'Proxies whose X-Forwarded-For names the client, for keys and limits. Unset: none.',
  },
  SIGNALBOX_PLATFORM_URL: {
    kind: 'url',
    default: undefined,
    meaning: 'Graph API to deliver to (Meta: https://graph.facebook.com). Unset: the simulator.',
  },
  SIGNALBOX_PLATFORM_VERSION: {
    kind: 'pattern',
    pattern: /^v\d+\.\d+$/,
    patternMeaning: 'look like v26.0',
    default: 'v26.0',
    meaning: 'Graph API version in every request.',
  },
  SIGNALBOX_SIMULATOR_PORT: {
    kind: 'integer',
    default: '0',
    minimum: 0,
    maximum: 65_535,
    meaning: 'Port of the bundled simulator; 0 takes PORT + 1, or any free one when that is taken.',
  },
  SIGNALBOX_METRICS_PORT: {
    kind: 'integer',
    default: '0',
    minimum: 0,
    maximum: 65_535,
    meaning: 'Port of the metrics; 0 takes PORT + 2, or any free one when that is taken.',
  },
  SIGNALBOX_METRICS_HOST: {
    kind: 'text',
    default: '127.0.0.1',
    meaning: 'Address the metrics listen on. They are not for the public.',
  },
  SIGNALBOX_CREDENTIAL_KEY: {
    kind: 'pattern',
    pattern: /^[0-9a-fA-F]{64}$/,
    patternMeaning: 'be 64 hexadecimal characters (openssl rand -hex 32)',
    default: undefined,
    secret: true,
    meaning: 'Encrypts platform credentials at rest. Unset: one generated in the data folder.',
  },
  SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: {
    kind: 'pattern',
    pattern: /^[0-9a-fA-F]{64}(\s*,\s*[0-9a-fA-F]{64}){0,7}$/,
    patternMeaning: 'be 1 to 8 keys of 64 hexadecimal characters with commas between them',
    default: undefined,
    secret: true,
    meaning: 'While the key rotates: keys that still open what they sealed before.',
  },
  SIGNALBOX_CONTRACT_KEY: {
    kind: 'pattern',
    pattern: /^(\{.*\}|-----BEGIN PRIVATE KEY-----.*)$/s,
    patternMeaning: 'be an Ed25519 private key, as a JWK or as PKCS#8 in PEM',
    default: undefined,
    secret: true,
    meaning: 'Signs the served contract. Unset: a development key, generated in the data folder.',
  },
  SIGNALBOX_CONTRACT_KEY_PREVIOUS: {
    kind: 'pattern',
    pattern: /^\{.*\}$/s,
    patternMeaning: 'be a JWK set of Ed25519 public keys',
    default: undefined,
    secret: true,
    meaning: 'While that key rotates: public keys that are published beside it.',
  },
  SIGNALBOX_SECURITY_CONTACT: {
    kind: 'pattern',
    pattern: /^(mailto:[^\s@]+@[^\s@]+|https:\/\/[^\s/]+\S*|tel:\+?[\d-]+)$/,
    patternMeaning: 'be a mailto:, https: or tel: address',
    default: undefined,
    meaning: 'Where holes are reported, for /.well-known/security.txt. Unset: there is none.',
  },
  SIGNALBOX_INGEST_QUEUE_MAX: {
    kind: 'integer',
    default: '10000',
    minimum: 1,
    maximum: 1_000_000,
    meaning: 'Events that may wait for a commit before new ones are answered 503.',
  },
  SIGNALBOX_COMMIT_EVENTS_MAX: {
    kind: 'integer',
    default: '1000',
    minimum: 1,
    maximum: 5_000,
    meaning: 'Events in one commit.',
  },
  SIGNALBOX_TRACKER_RATE_PER_SECOND: {
    kind: 'integer',
    default: '1000',
    minimum: 0,
    maximum: 100_000,
    meaning: 'Requests a second of one tracker, twice that at once; in each process. 0: no limit.',
  },
  SIGNALBOX_SANDBOX_RATE_PER_MINUTE: {
    kind: 'integer',
    default: '60',
    minimum: 0,
    maximum: 100_000,
    meaning: 'Requests a minute to the sandbox from one address; in each process. 0: no limit.',
  },
  SIGNALBOX_FAILED_AUTH_RATE_PER_MINUTE: {
    kind: 'integer',
    default: '600',
    minimum: 0,
    maximum: 100_000,
    meaning: 'Wrong credentials a minute from one address; in each process. 0: no limit.',
  },
  SIGNALBOX_EVENT_LOOP_DELAY_MILLISECONDS_MAX: {
    kind: 'integer',
    default: '1000',
    minimum: 0,
    maximum: 60_000,
    meaning: 'A process that stays this late in its work answers new requests 503. 0: never.',
  },
  SIGNALBOX_DELIVERY_BATCH_MAX: {
    kind: 'integer',
    default: '1000',
    minimum: 1,
    maximum: 1_000,
    meaning: 'Events in one request to the platform (Meta allows 1,000).',
  },
  SIGNALBOX_DELIVERY_LANE_REQUESTS_MAX: {
    kind: 'integer',
    default: '2',
    minimum: 1,
    maximum: 16,
    meaning: 'Requests in flight to one destination from one process; 1 while it is on trial.',
  },
  SIGNALBOX_DELIVERY_REQUESTS_MAX: {
    kind: 'integer',
    default: '8',
    minimum: 1,
    maximum: 256,
    meaning: 'Requests in flight from one process. Keep it below the connections, as by default.',
  },
  SIGNALBOX_DELIVERY_LEASE_SECONDS: {
    kind: 'integer',
    default: '60',
    minimum: 15,
    maximum: 3_600,
    meaning: 'After this long, deliveries that a dead worker had claimed are taken up again.',
  },
  SIGNALBOX_DELIVERY_POLL_SECONDS: {
    kind: 'integer',
    default: '2',
    minimum: 1,
    maximum: 60,
    meaning: 'How often a worker looks for due deliveries when nothing wakes it.',
  },
  SIGNALBOX_JOBS: {
    kind: 'choice',
    choices: ['on', 'off'],
    default: 'on',
    meaning: 'Whether all and deliver run the jobs. Some process on each store has to.',
  },
  SIGNALBOX_TEST_MODE_HOURS: {
    kind: 'integer',
    default: '24',
    minimum: 1,
    maximum: 168,
    meaning: 'After this long, test mode of a destination switches itself off.',
  },
  SIGNALBOX_PAYLOAD_RETENTION_DAYS: {
    kind: 'integer',
    default: '90',
    minimum: 63,
    maximum: 3_650,
    meaning: 'Days that identity is kept; not below 63, as Meta takes some events for 62 days.',
  },
  SIGNALBOX_LEDGER_RETENTION_MONTHS: {
    kind: 'integer',
    default: '25',
    minimum: 3,
    maximum: 240,
    meaning: 'Months that events, deliveries and reports are kept; not shorter than identity.',
  },
  SIGNALBOX_ATTEMPT_RETENTION_DAYS: {
    kind: 'integer',
    default: '90',
    minimum: 1,
    maximum: 3_650,
    meaning: 'Days that requests to the platform and their answers are kept.',
  },
} as const satisfies Record<string, Variable>

export type VariableName = keyof typeof VARIABLES
