import { type SheddingOptions, shedLoad } from '../http/load-shedding.ts'
import {
  consumeRateLimit,
  createRateLimit,
  type Rate,
  type RateLimit,
  RateLimiter,
} from '../http/rate-limit.ts'
import type { ServiceApp } from '../http/service-app.ts'
import {
  type AddressLimit,
  allocateValidCredentialMemory,
  limitFailedAuthentications,
} from './address-limits.ts'
import type { AddressedRequest } from './client-address.ts'

interface LimitOptions extends RequestLimitsOptions, SheddingOptions {
  /** Registers what asks who is there. */
  guard: () => void
}

/**
 * Keeps one caller from taking the service from all others. In the order in which a request meets
 * them: overload, failed authentications, the guard, its tracker's rate. None has read a body yet.
 */
export function limitRequests(app: ServiceApp, { guard, ...options }: LimitOptions): RequestLimits {
  const limits = createRequestLimits(options)
  shedLoad(app, options)
  const working = options.memory?.working_credentials
  if (limits.failedAuthentications) {
    limitFailedAuthentications(app, limits.failedAuthentications, working)
  }
  guard()
  if (limits.tracker) limitTrackers(app, limits.tracker)
  return limits
}

/** Their names stand in the headers and count in the metrics. */
export const LIMIT_NAMES = [
  ...(['tracker', 'sandbox', 'failed_authentications'] as const),
  ...(['sign_in', 'sign_in_account'] as const),
  ...(['registration', 'oauth', 'user_codes', 'agents'] as const),
] as const
export type LimitName = (typeof LIMIT_NAMES)[number]

/** How much is let in, as the settings of the same names say. 0: as much as comes. */
export interface RequestRates {
  trackerRatePerSecond: number
  sandboxRatePerMinute: number
  failedAuthRatePerMinute: number
  signInRatePerMinute: number
  registrationRatePerMinute: number
  oauthRatePerMinute: number
  userCodeRatePerMinute: number
  agentRatePerMinute: number
}

interface RequestLimitsOptions extends RequestRates {
  addressOf: (request: AddressedRequest) => string
  /** Seconds of a clock that only goes forward. */
  monotonicSeconds: () => number
  /** For counting. */
  onLimited: (name: LimitName) => void
  /** Where several threads count together. */
  memory?: LimitMemory | undefined
}

/** What the limits count in, for the threads of a process that hold them together. */
export type LimitMemory = Record<LimitName | 'working_credentials', SharedArrayBuffer>

export function allocateLimitMemory(): LimitMemory {
  const counted = LIMIT_NAMES.map(name => [name, RateLimiter.allocateMemory()] as const)
  const memory = Object.fromEntries(counted) as Record<LimitName, SharedArrayBuffer>
  return { ...memory, working_credentials: allocateValidCredentialMemory() }
}

export interface RequestLimits {
  tracker: RateLimit | null
  sandbox: AddressLimit | null
  failedAuthentications: AddressLimit | null
  /** Signing in and up, and mails that anybody may ask for. */
  signIn: AddressLimit | null
  /** Wrong passwords of one account, and mails to one address, from wherever they come. */
  signInAccount: RateLimit | null
  /** Registering clients, which anybody may. */
  registration: AddressLimit | null
  /** Tokens, device codes and revocation. */
  oauth: AddressLimit | null
  /** Codes of devices, typed by people. */
  userCodes: AddressLimit | null
  /** Actions of agents, over MCP and REST together. */
  agents: AddressLimit | null
}

/** Ten at once, then one in a minute: a guess in a dictionary of a million takes two years. */
const ACCOUNT_RATE = { perSecond: 1 / 60, burst: 10 }

/** So many seconds of its rate may a tracker save up. */
const TRACKER_BURST_SECONDS = 2
const MINUTE_SECONDS = 60

/** The limits of this process. Each process has its own: several of them let more in together. */
function createRequestLimits(options: RequestLimitsOptions): RequestLimits {
  const { trackerRatePerSecond, addressOf } = options
  const trackerRate = {
    perSecond: trackerRatePerSecond,
    burst: trackerRatePerSecond * TRACKER_BURST_SECONDS,
  }
  const ofAddresses = (name: LimitName, perMinute: number): AddressLimit | null => {
    const rate = { perSecond: perMinute / MINUTE_SECONDS, burst: perMinute }
    const limit = createLimit(name, rate, options)
    return limit && { limit, addressOf }
  }
  return {
    tracker: createLimit('tracker', trackerRate, options),
    sandbox: ofAddresses('sandbox', options.sandboxRatePerMinute),
    failedAuthentications: ofAddresses('failed_authentications', options.failedAuthRatePerMinute),
    signIn: ofAddresses('sign_in', options.signInRatePerMinute),
    signInAccount:
      options.signInRatePerMinute === 0
        ? null
        : createLimit('sign_in_account', ACCOUNT_RATE, options),
    registration: ofAddresses('registration', options.registrationRatePerMinute),
    oauth: ofAddresses('oauth', options.oauthRatePerMinute),
    userCodes: ofAddresses('user_codes', options.userCodeRatePerMinute),
    agents: ofAddresses('agents', options.agentRatePerMinute),
  }
}

function createLimit(
  name: LimitName,
  rate: Rate,
  { monotonicSeconds: steadySeconds, onLimited, memory: shared }: RequestLimitsOptions,
): RateLimit | null {
  if (rate.perSecond === 0) return null
  const onRefused = () => onLimited(name)
  const memory = shared?.[name]
  return createRateLimit({
    ...rate,
    name,
    message: SENTENCES[name],
    monotonicSeconds: steadySeconds,
    onRefused,
    memory,
  })
}

const SENTENCES: Record<LimitName, string> = {
  tracker: 'Too many requests for this tracker; wait, then send the same request again.',
  sandbox:
    'Too many requests to the sandbox from this address; wait, then send the same request again.',
  failed_authentications:
    'Too many requests from this address had no valid credential; wait, then check yours.',
  sign_in: 'Too many attempts from this address; wait a little, then try again.',
  sign_in_account: 'Too many attempts for this account; wait a few minutes, then try again.',
  registration: 'Too many registrations from this address; wait, then register once and keep it.',
  oauth: 'Too many requests from this address; wait, then send the same request again.',
  user_codes: 'Too many codes from this address; wait a minute, then try again.',
  agents: 'Too many requests of agents from this address; wait, then send the same request again.',
}

/**
 * One request, one token of its tracker, whichever of its keys was sent. After the guard, so that
 * nobody can use up what belongs to another, and before the body is read.
 */
function limitTrackers(app: ServiceApp, limit: RateLimit): void {
  app.addHook('onRequest', ({ tracker }, reply, done) => {
    const refusal = tracker ? consumeRateLimit(limit, tracker.trackerId, reply) : null
    if (refusal) done(refusal)
    else done()
  })
}
