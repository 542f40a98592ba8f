import { DAY_SECONDS, MINUTE_SECONDS } from '../util/time.ts'
import type { AddressedRequest } from './client-address.ts'
import {
  type AddressLimit,
  allocateValidCredentialMemory,
  limitFailedAuthentications,
} from './client-address.ts'
import { type SheddingOptions, shedLoad } from './load-shedding.ts'
import { createRateLimit, type Rate, type RateLimit, RateLimiter } from './rate-limit.ts'
import type { ServiceApp } from './service-app.ts'

interface LimitOptions extends RequestLimitsOptions, SheddingOptions {
  settings: RequestLimitsOptions['settings'] & SheddingOptions['settings']
  /** Registers the hooks that authenticate requests and limit each credential. */
  guard: (limits: RequestLimits) => void
}

/**
 * Keeps one caller from starving all others. A request meets the limits in this order, before its
 * body is read: overload, failed authentications, the guard, the rate of its credential.
 */
export function limitRequests(app: ServiceApp, { guard, ...options }: LimitOptions): RequestLimits {
  const limits = createRequestLimits(options)
  shedLoad(app, options)
  if (limits.failedAuthentications) {
    const memory = options.memory?.valid_credentials
    limitFailedAuthentications(app, limits.failedAuthentications, memory)
  }
  guard(limits)
  return limits
}

/** Requests per minute of one address: the name of the limit, its setting and its message. */
const ADDRESS_LIMITS = {
  sandbox: {
    name: 'sandbox',
    setting: 'sandboxRatePerMinute',
    message:
      'Too many requests to the sandbox from this address; wait, then send the same request again.',
  },
  failedAuthentications: {
    name: 'failed_authentications',
    setting: 'failedAuthRatePerMinute',
    message: 'Too many requests from this address had no valid credential; wait, then check yours.',
  },
  /** Sign-in, sign-up and emails that need no sign-in. */
  signIn: {
    name: 'sign_in',
    setting: 'signInRatePerMinute',
    message: 'Too many attempts from this address; wait a little, then try again.',
  },
  /** Registration of OAuth clients. */
  registration: {
    name: 'registration',
    setting: 'registrationRatePerMinute',
    message: 'Too many registrations from this address; wait, then register once and keep it.',
  },
  /** Tokens, device codes and revocation. */
  oauth: {
    name: 'oauth',
    setting: 'oauthRatePerMinute',
    message: 'Too many requests from this address; wait, then send the same request again.',
  },
  /** Device codes that people type. */
  userCodes: {
    name: 'user_codes',
    setting: 'userCodeRatePerMinute',
    message: 'Too many codes from this address or account; wait a minute, then try again.',
  },
  /** Events of one address with the publishable keys of one tracker. */
  browser: {
    name: 'browser_address',
    setting: 'browserRatePerMinute',
    message: 'Too many events from this address; wait, then send the same event again.',
  },
  /** Withdrawals of consent by pages of one address and one tracker. */
  pageWithdrawals: {
    name: 'page_withdrawals',
    setting: 'pageWithdrawalRatePerMinute',
    message: 'Too many withdrawals from this address; wait, then send the same event again.',
  },
  /** Actions of agents, over MCP and REST together. */
  agents: {
    name: 'agents',
    setting: 'agentRatePerMinute',
    message: 'Too many agent requests from this address; wait, then send the same request again.',
  },
} as const

/** Of a request, and of an event in a batch. */
const TRACKER_MESSAGE =
  'Too many requests for this tracker; wait, then retry. An operator can raise ' +
  'SIGNALBOX_TRACKER_RATE_PER_SECOND.'
const PAGE_WITHDRAWALS_MESSAGE =
  'Too many withdrawals from pages of this tracker; wait, then send the same event again.'
const PUBLISHABLE_MESSAGE =
  'Too many events with this publishable key; wait, then send the same event again.'

/** Limits whose key is an account or an address, not the client: the name and the message. */
const USER_LIMITS = {
  /** Passwords tried on one account. */
  signInUser: {
    name: 'sign_in_account',
    message:
      'Too many attempts for this account; wait a few minutes, or sign in by an emailed link.',
    /** Ten attempts, then one a minute: guessing from a dictionary of a million takes two years. */
    rate: { perSecond: 1 / 60, burst: 10 },
  },
  /** Emails to one address that anyone can request. */
  userEmails: {
    name: 'account_emails',
    message: 'Too many emails to this address; use the newest one, or wait ten minutes.',
    /** More often than links expire, so that one of the links that were sent always works. */
    rate: { perSecond: 1 / 600, burst: 5 },
  },
} as const

type UserLimitRule = (typeof USER_LIMITS)[keyof typeof USER_LIMITS]

/** Invitations per day: the name of the limit, its setting and its message. */
const INVITATION_LIMITS = {
  invitationsOfUser: {
    name: 'invitations_person',
    setting: 'invitationsPerUserPerDay',
    message: 'You sent too many invitations; wait some hours, then invite the others.',
  },
  invitationsOfWorkspace: {
    name: 'invitations_workspace',
    setting: 'invitationsPerWorkspacePerDay',
    message: 'Too many invitations from this workspace; wait some hours, then invite the others.',
  },
  invitationsToAddress: {
    name: 'invitations_recipient',
    setting: 'invitationsPerRecipientPerDay',
    message: 'Too many invitations to this address; use the last one, or wait some hours.',
  },
} as const

type InvitationLimitRule = (typeof INVITATION_LIMITS)[keyof typeof INVITATION_LIMITS]
type AddressLimitRule = (typeof ADDRESS_LIMITS)[keyof typeof ADDRESS_LIMITS]

/** The name of a limit in headers, log lines and metrics. */
export type LimitName =
  | 'tracker'
  | 'publishable_key'
  | 'page_withdrawals_tracker'
  | (UserLimitRule | InvitationLimitRule | AddressLimitRule)['name']

export const LIMIT_NAMES: readonly LimitName[] = [
  'tracker',
  'publishable_key',
  'page_withdrawals_tracker',
  ...Object.values(USER_LIMITS).map(({ name }) => name),
  ...Object.values(INVITATION_LIMITS).map(({ name }) => name),
  ...Object.values(ADDRESS_LIMITS).map(({ name }) => name),
]

/** The settings of the same names. 0 means no limit. */
type RequestRates = Record<
  | 'trackerRatePerSecond'
  | 'publishableRatePerSecond'
  | (AddressLimitRule | InvitationLimitRule)['setting'],
  number
>

interface RequestLimitsOptions {
  settings: RequestRates
  /** Returns the key under which a request counts. */
  addressOf: (request: AddressedRequest) => string
  monotonicSeconds: () => number
  /** For metrics. */
  onLimited: (name: LimitName) => void
  /** Set when several threads count together. */
  memory?: LimitMemory | undefined
}

/** The memory in which the threads of a process count together. */
export type LimitMemory = Record<LimitName | 'valid_credentials', SharedArrayBuffer>

export function allocateLimitMemory(): LimitMemory {
  const limiters = LIMIT_NAMES.map(name => [name, RateLimiter.allocateMemory()] as const)
  const memory = Object.fromEntries(limiters) as Record<LimitName, SharedArrayBuffer>
  return { ...memory, valid_credentials: allocateValidCredentialMemory() }
}

export interface RequestLimits
  extends Record<keyof typeof ADDRESS_LIMITS, AddressLimit | null>,
    Record<keyof (typeof USER_LIMITS & typeof INVITATION_LIMITS), RateLimit | null> {
  tracker: RateLimit | null
  publishableKey: RateLimit | null
  pageWithdrawalsOfTracker: RateLimit | null
}

/** Trackers and publishable keys may save up this many seconds of their rate. */
const BURST_SECONDS = 2

/** A tracker takes as many withdrawals of pages as this many addresses may send. */
const TRACKER_ADDRESSES = 20

/** The limits of this process. Several processes let more requests through together. */
function createRequestLimits(options: RequestLimitsOptions): RequestLimits {
  const { settings, addressOf } = options
  const { trackerRatePerSecond, publishableRatePerSecond, signInRatePerMinute } = settings
  const trackerWithdrawals = settings.pageWithdrawalRatePerMinute * TRACKER_ADDRESSES
  const limitKey = (name: LimitName, message: string, perSecond: number) =>
    createLimit({ name, message, rate: { perSecond, burst: perSecond * BURST_SECONDS } }, options)
  const limitAddress = ({ name, setting, message }: AddressLimitRule): AddressLimit | null => {
    const perMinute = settings[setting]
    const rate = { perSecond: perMinute / MINUTE_SECONDS, burst: perMinute }
    const limit = createLimit({ name, message, rate }, options)
    return limit && { limit, addressOf }
  }
  const limitUserAttempts = (rule: UserLimitRule): RateLimit | null =>
    signInRatePerMinute === 0 ? null : createLimit(rule, options)
  const limitInvitations = ({ name, setting, message }: InvitationLimitRule) => {
    const perDay = settings[setting]
    const rate = { perSecond: perDay / DAY_SECONDS, burst: perDay }
    return createLimit({ name, message, rate }, options)
  }
  return {
    tracker: limitKey('tracker', TRACKER_MESSAGE, trackerRatePerSecond),
    publishableKey: limitKey('publishable_key', PUBLISHABLE_MESSAGE, publishableRatePerSecond),
    pageWithdrawalsOfTracker: createLimit(
      {
        name: 'page_withdrawals_tracker',
        message: PAGE_WITHDRAWALS_MESSAGE,
        rate: { perSecond: trackerWithdrawals / MINUTE_SECONDS, burst: trackerWithdrawals },
      },
      options,
    ),
    signInUser: limitUserAttempts(USER_LIMITS.signInUser),
    userEmails: limitUserAttempts(USER_LIMITS.userEmails),
    invitationsOfUser: limitInvitations(INVITATION_LIMITS.invitationsOfUser),
    invitationsOfWorkspace: limitInvitations(INVITATION_LIMITS.invitationsOfWorkspace),
    invitationsToAddress: limitInvitations(INVITATION_LIMITS.invitationsToAddress),
    sandbox: limitAddress(ADDRESS_LIMITS.sandbox),
    failedAuthentications: limitAddress(ADDRESS_LIMITS.failedAuthentications),
    signIn: limitAddress(ADDRESS_LIMITS.signIn),
    registration: limitAddress(ADDRESS_LIMITS.registration),
    oauth: limitAddress(ADDRESS_LIMITS.oauth),
    userCodes: limitAddress(ADDRESS_LIMITS.userCodes),
    browser: limitAddress(ADDRESS_LIMITS.browser),
    pageWithdrawals: limitAddress(ADDRESS_LIMITS.pageWithdrawals),
    agents: limitAddress(ADDRESS_LIMITS.agents),
  }
}

function createLimit(
  { name, message, rate }: { name: LimitName; message: string; rate: Rate },
  { monotonicSeconds, onLimited, memory }: RequestLimitsOptions,
): RateLimit | null {
  if (rate.perSecond === 0) return null
  const onRefused = () => onLimited(name)
  return createRateLimit({
    ...rate,
    name,
    message,
    monotonicSeconds,
    onRefused,
    memory: memory?.[name],
  })
}
