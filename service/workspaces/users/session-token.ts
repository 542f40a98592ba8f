import { hash, randomBytes } from 'node:crypto'
import { DAY_MILLISECONDS, DAY_SECONDS } from '../../runtime/util/time.ts'

/** The lifetime of a session. Use does not extend it. */
const SESSION_DAYS = 14
/** A session that is not used for this long ends. Longer than an approval waits for a user. */
export const SESSION_IDLE_DAYS = 4

/** When a session ends that begins at `at`. */
export function sessionExpiry(at: Date): Date {
  return new Date(at.getTime() + SESSION_DAYS * DAY_MILLISECONDS)
}

/** better-auth's tokens: 32 of 62 characters, 190 random bits. */
const SESSION_TOKEN = /^[A-Za-z0-9]{32}$/

const COOKIE = 'signalbox_session'

export function sessionCookieName(publicOrigin: string): string {
  return cookieName(publicOrigin, COOKIE)
}

/** `Set-Cookie` for a new session. */
export function sessionCookie(publicOrigin: string, token: string): string {
  const secondsMax = SESSION_DAYS * DAY_SECONDS
  return serializeCookie(publicOrigin, { name: COOKIE, value: token, secondsMax })
}

/** `Set-Cookie` that removes the cookie. */
export function clearedSessionCookie(publicOrigin: string): string {
  return serializeCookie(publicOrigin, { name: COOKIE, value: '', secondsMax: 0 })
}

/** Reads the token from a Cookie header. Returns null when it is absent or malformed. */
export function readSessionToken(header: string | undefined, publicOrigin: string): string | null {
  const found = readCookie(header, publicOrigin, COOKIE)
  return found !== undefined && SESSION_TOKEN.test(found) ? found : null
}

/** A token of our own, in the form of the library's. */
export function createSessionToken(): string {
  return randomBytes(SESSION_TOKEN_BYTES).toString('hex')
}

const SESSION_TOKEN_BYTES = 16

const LIBRARY_COOKIE = /^(?:__Secure-)?signalbox\.session_token=([^;]*)/

/** The library sets a session cookie of its own, which never reaches the browser. */
export function isLibrarySessionCookie(cookie: string): boolean {
  return LIBRARY_COOKIE.test(cookie)
}

/** Reads the token from it: the value is the token, a dot and a signature. */
export function readLibrarySessionToken(cookies: readonly string[]): string | null {
  const found = cookies.find(isLibrarySessionCookie)
  const value = decodeURIComponent(LIBRARY_COOKIE.exec(found ?? '')?.[1] ?? '')
  return value.split('.', 1)[0] || null
}

/** The stored form of a session token. */
export function hashSessionToken(token: string): string {
  return hash('sha256', token, 'base64url')
}

/** The parts of a better-auth adapter call that matter here. */
interface AdapterCall {
  model: string
  where?: { field: string; value: unknown }[]
  data?: Record<string, unknown>
  update?: Record<string, unknown>
}

type AdapterMethod = (call: AdapterCall) => Promise<unknown>
type AdapterMethods = Record<string, AdapterMethod>
type Transaction = (callback: (inner: object) => unknown) => Promise<unknown>

/** The library accesses its tables through these methods only. */
const ADAPTER_METHODS = [
  'create',
  'findOne',
  'findMany',
  'count',
  'update',
  'updateMany',
  'delete',
  'deleteMany',
  'consumeOne',
  'incrementOne',
]

/** `createSchema` writes a file for developers; `transaction` is wrapped itself. */
const OTHER_METHODS = ['transaction', 'createSchema']

/**
 * Throws for a method of a later version of the library that this file does not know: it could
 * store a token as it is. The start of a program that serves people checks it and ends.
 */
export function requireKnownMethods(adapter: object): void {
  const known = [...ADAPTER_METHODS, ...OTHER_METHODS]
  const unknown = Object.entries(adapter)
    .filter(([name, member]) => typeof member === 'function' && !known.includes(name))
    .map(([name]) => name)
  if (unknown.length === 0) return
  throw new Error(
    `The adapter of better-auth has methods that could store session tokens as they are: ` +
      `${unknown.join(', ')}. Install the versions of the lockfile.`,
  )
}

/**
 * Wraps a better-auth adapter so that the table holds digests of session tokens: a copy of the
 * table opens no session. The library still gets the token that it created or looked up, and
 * leaves the lifetime of sessions to us. Covers its transactions too.
 */
export function withHashedSessionTokens<Adapter extends object>(
  adapter: Adapter,
  digest: (token: string) => string,
): Adapter {
  requireKnownMethods(adapter)
  const inner = adapter as unknown as AdapterMethods
  const wrapped: Record<string, unknown> = { ...inner }
  for (const name of ADAPTER_METHODS) {
    const method = inner[name]
    if (method) wrapped[name] = (call: AdapterCall) => callWithHashedToken(method, call, digest)
  }
  const { transaction } = adapter as { transaction?: Transaction }
  if (transaction) {
    wrapped.transaction = (callback: (inner: object) => unknown) =>
      transaction(found => callback(withHashedSessionTokens(found, digest)))
  }
  return wrapped as Adapter
}

async function callWithHashedToken(
  method: AdapterMethod,
  call: AdapterCall,
  digest: (token: string) => string,
): Promise<unknown> {
  if (call.model !== 'session') return method(call)
  const named = call.where?.find(({ field }) => field === 'token')?.value ?? call.data?.token
  const found = await method({
    ...call,
    ...(call.where && { where: call.where.map(condition => hashCondition(condition, digest)) }),
    ...(call.data && { data: hashRow(call.data, digest) }),
    ...(call.update && { update: hashRow(call.update, digest) }),
  })
  const isRow = typeof found === 'object' && found !== null && 'token' in found
  if (!isRow || typeof named !== 'string') return found
  return { ...found, token: named, expiresAt: UNLIMITED }
}

/**
 * The library compares with the clock of the machine. Our routes have checked the session against
 * the clock of the program before they name it to the library.
 */
const UNLIMITED = new Date(8.64e15)

function hashCondition<Condition extends { field: string; value: unknown }>(
  condition: Condition,
  digest: (token: string) => string,
): Condition {
  const { field, value } = condition
  if (field !== 'token') return condition
  const hashed = Array.isArray(value) ? value.map(text => digest(String(text))) : null
  return { ...condition, value: hashed ?? digest(String(value)) }
}

function hashRow(row: Record<string, unknown>, digest: (token: string) => string) {
  return typeof row.token === 'string' ? { ...row, token: digest(row.token) } : row
}

/**
 * The name of a cookie. `__Host-` binds it to this host and to HTTPS (RFC 6265bis, 4.1.3.2), so
 * that a sibling domain cannot plant one; browsers refuse the prefix where there is no HTTPS.
 */
export function cookieName(publicOrigin: string, name: string): string {
  return publicOrigin.startsWith('https:') ? `__Host-${name}` : name
}

interface Cookie {
  /** Without the prefix. */
  name: string
  value: string
  /** 0 removes the cookie. */
  secondsMax: number
}

/** `Set-Cookie` that scripts cannot read. Lax: a link on another site opens our pages with it. */
export function serializeCookie(publicOrigin: string, cookie: Cookie): string {
  const { name, value, secondsMax } = cookie
  const secure = publicOrigin.startsWith('https:') ? '; Secure' : ''
  const pair = `${cookieName(publicOrigin, name)}=${value}`
  return `${pair}; Path=/; Max-Age=${secondsMax}; HttpOnly; SameSite=Lax${secure}`
}

/** Reads a cookie, by its name without the prefix, from a Cookie header. */
export function readCookie(
  header: string | undefined,
  publicOrigin: string,
  name: string,
): string | undefined {
  const wanted = `${cookieName(publicOrigin, name)}=`
  return header
    ?.split(';')
    .map(part => part.trim())
    .find(part => part.startsWith(wanted))
    ?.slice(wanted.length)
}
