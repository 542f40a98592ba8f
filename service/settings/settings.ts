import type { Network } from './variable.ts'
import type { VariableName } from './variables.ts'

/** What the program was told, read once at the start. Times are seconds, sizes are counts. */
export interface Settings {
  port: number
  host: string
  /** Undefined: as many as fit the machine. */
  httpWorkers: number | undefined
  logLevel: string
  databaseUrl: string | undefined
  dataDirectory: string
  databasePort: number
  databaseConnectionsMax: number
  publicOrigin: string | undefined
  trustedProxies: Network[]
  platformUrl: string | undefined
  platformVersion: string
  simulatorPort: number
  metricsPort: number
  metricsHost: string
  credentialKey: string | undefined
  credentialKeysPrevious: string[]
  contractKey: string | undefined
  contractKeysPrevious: string | undefined
  securityContact: string | undefined
  ingestQueueMax: number
  commitEventsMax: number
  trackerRatePerSecond: number
  sandboxRatePerMinute: number
  failedAuthRatePerMinute: number
  signInRatePerMinute: number
  registrationRatePerMinute: number
  oauthRatePerMinute: number
  userCodeRatePerMinute: number
  agentRatePerMinute: number
  nativeSchemes: string[]
  /** Other origins whose pages may call the MCP server. */
  mcpOrigins: string[]
  mailUrl: string | undefined
  mailFrom: string
  googleClient: SocialClient | undefined
  githubClient: SocialClient | undefined
  eventLoopDelayMillisecondsMax: number
  deliveryBatchMax: number
  deliveryRequestsPerDestinationMax: number
  deliveryRequestsMax: number
  deliveryLeaseSeconds: number
  deliveryPollSeconds: number
  areJobsOn: boolean
  testModeHours: number
  payloadRetentionDays: number
  ledgerRetentionMonths: number
  attemptRetentionDays: number
  /** Sentences about variables that nobody reads; they never stop the start. */
  warnings: string[]
  /** Which variables were given, for the start-up summary. Values of secrets are not in it. */
  givenVariables: VariableName[]
  /** The text of a variable that is no secret, as it was given. */
  textOf: (name: VariableName) => string | undefined
}

/** What a social provider knows us by. */
export interface SocialClient {
  clientId: string
  clientSecret: string
}
