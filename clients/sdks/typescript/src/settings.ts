import { parseBaseUrl } from './base-url.ts'
import { InvalidArgumentError } from './errors.ts'
import type { Hooks } from './hooks.ts'

/** The version of this package and of the API that it is written for. */
export const VERSION = '0.5.0'

export interface CallOptions {
  /** How often a failed request is repeated; 2 by default, 0 never. */
  maxRetries?: number | undefined
  /** Milliseconds for one attempt, its body included; 10,000 by default. */
  timeout?: number | undefined
  /** Milliseconds for the call with its retries and delays; 30,000 by default. */
  totalTimeout?: number | undefined
  /** Cancels the call, which then throws the reason of the signal. */
  signal?: AbortSignal | undefined
}

export interface ClientOptions extends Omit<CallOptions, 'signal'> {
  /** The secret of a signal tracker. SIGNALBOX_TOKEN by default. */
  token?: string | undefined
  /** Such as `https://events.example/api/v1`. SIGNALBOX_BASE_URL by default. */
  baseUrl?: string | undefined
  /** Your own fetch, for a proxy or a test. */
  fetch?: typeof fetch | undefined
  /** Called around each request; see README.md for OpenTelemetry. */
  hooks?: Hooks | undefined
  /** Your program, at the end of User-Agent. */
  appInfo?: { name: string; version: string } | undefined
}

/** What a client needs for its requests. The token is not a member, so that no log prints it. */
export interface Settings {
  baseUrl: string
  userAgent: string
  fetch: typeof fetch
  hooks: Hooks
  maxRetries: number
  timeout: number
  totalTimeout: number
  /** Whether the service takes batches. False once it answered that it has no such operation. */
  hasBatches: boolean
  /** Throws an InvalidArgumentError without a token. */
  readToken: () => string
}

/** Throws an InvalidArgumentError that names the option or the variable. */
export function resolveSettings(options: ClientOptions): Settings {
  const token = options.token ?? readVariable('SIGNALBOX_TOKEN')
  const baseUrl = options.baseUrl ?? readVariable('SIGNALBOX_BASE_URL')
  if (token !== undefined) checkToken(token)
  if (baseUrl === undefined) {
    throw new InvalidArgumentError('There is no base URL: set SIGNALBOX_BASE_URL or baseUrl.')
  }
  const limits = { maxRetries: 2, timeout: 10_000, totalTimeout: 30_000 }
  return {
    ...mergeLimits(limits, options),
    baseUrl: checkBaseUrl(baseUrl),
    userAgent: formatUserAgent(options.appInfo),
    // Called without a receiver, as browsers and Workers require.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    hooks: options.hooks ?? {},
    hasBatches: true,
    readToken() {
      if (token !== undefined) return token
      throw new InvalidArgumentError('There is no token: set SIGNALBOX_TOKEN or token.')
    },
  }
}

type Limits = Pick<Settings, 'maxRetries' | 'timeout' | 'totalTimeout'>

/** The limits of a call: its own, else those of the client. */
export function mergeLimits(limits: Limits, own: CallOptions): Limits {
  const {
    maxRetries = limits.maxRetries,
    timeout = limits.timeout,
    totalTimeout = limits.totalTimeout,
  } = own
  if (!Number.isInteger(maxRetries) || maxRetries < 0) {
    throw new InvalidArgumentError('maxRetries must be a whole number from 0.')
  }
  if (!(timeout > 0) || !(totalTimeout > 0)) {
    throw new InvalidArgumentError('Timeouts must be milliseconds above 0.')
  }
  return { maxRetries, timeout, totalTimeout }
}

/** A header cannot hold other characters, and a line break would add a header. */
export function checkToken(token: string): void {
  if (typeof token !== 'string' || !/^[!-~]+$/.test(token)) {
    throw new InvalidArgumentError('The token must be text of visible ASCII characters.')
  }
  const { window, document } = globalThis as { window?: unknown; document?: unknown }
  if (window === undefined || document === undefined) return
  throw new InvalidArgumentError(
    'This is a browser. Anyone could read the token: send events from a server, or with the tag.',
  )
}

/** An empty variable counts as not set. A runtime without permission has no variables. */
function readVariable(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
    return process?.env?.[name] || undefined
  } catch {
    return undefined
  }
}

function checkBaseUrl(text: string): string {
  const baseUrl = parseBaseUrl(text)
  if (baseUrl !== null) return baseUrl
  throw new InvalidArgumentError(
    'The base URL must be an http or https URL without credentials, query and fragment.',
  )
}

function formatUserAgent(appInfo: ClientOptions['appInfo']): string {
  const own = `signalbox-typescript/${VERSION} ${detectRuntime()}`
  if (!appInfo) return own
  const app = `${appInfo.name}/${appInfo.version}`
  if (!/^[\w.!#$%&'*+^`|~-]+\/[\w.!#$%&'*+^`|~-]+$/.test(app)) {
    throw new InvalidArgumentError('The name and version of appInfo must be words.')
  }
  return `${own} ${app}`
}

function detectRuntime(): string {
  const { Bun, Deno, navigator, process } = globalThis as {
    Bun?: { version: string }
    Deno?: { version: { deno: string } }
    navigator?: { userAgent?: string }
    process?: { versions?: { node?: string } }
  }
  if (Bun) return `bun/${Bun.version}`
  if (Deno) return `deno/${Deno.version.deno}`
  // With its compatibility flag, a Worker has the version of a Node.js too.
  if (navigator?.userAgent === 'Cloudflare-Workers') return 'cloudflare-workers'
  return process?.versions?.node ? `node/${process.versions.node}` : 'unknown/0'
}
