import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { readCookie, serializeCookie } from './cookies.ts'
import type { SessionContext } from './session-store.ts'
import { findPasswordHashByEmail } from './user-store.ts'

export interface DeviceContext extends SessionContext {
  /** Signs device cookies. 32 bytes. */
  deviceKey: Buffer
}

/** The browser of a request, and the address that it wants to use. */
interface DeviceRequest {
  /** The Cookie header. */
  cookie: string | undefined
  email: string
}

const COOKIE = 'signalbox_device'
const COOKIE_SECONDS = 180 * DAY_SECONDS

/** One browser may sign in to this many accounts; beyond it, the oldest one is forgotten. */
const ACCOUNTS_MAX = 5

const NONCE_BYTES = 16
/** A random number of this browser and account, and its signature, both in base64url. */
const ENTRY = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/

/**
 * Returns the ID of a browser in which the account was signed in to before; null for any other.
 * Attempts of a known device count apart from those of all others, so that an attacker who uses up
 * the attempts of an account does not lock out its owner (OWASP, "Slow Down Online Guessing Attacks
 * with Device Cookies"). The cookie opens nothing.
 */
export async function findKnownDevice(
  context: DeviceContext,
  request: DeviceRequest,
): Promise<string | null> {
  const entries = readEntries(context, request.cookie)
  if (entries.length === 0) return null
  const sign = await createSigner(context, request.email)
  const known = entries.find(({ nonce, signature }) => isSameText(sign(nonce), signature))
  return known?.nonce ?? null
}

/** `Set-Cookie` that makes the browser of a sign-in a known device of the account. */
export async function knownDeviceCookie(
  context: DeviceContext,
  request: DeviceRequest,
): Promise<string> {
  const known = await findKnownDevice(context, request)
  const nonce = known ?? randomBytes(NONCE_BYTES).toString('base64url')
  const sign = await createSigner(context, request.email)
  const others = readEntries(context, request.cookie).filter(entry => entry.nonce !== nonce)
  const entries = [{ nonce, signature: sign(nonce) }, ...others].slice(0, ACCOUNTS_MAX)
  const value = entries.map(entry => `${entry.nonce}.${entry.signature}`).join('~')
  return serializeCookie(context.publicOrigin(), {
    name: COOKIE,
    value,
    secondsMax: COOKIE_SECONDS,
  })
}

interface Entry {
  nonce: string
  signature: string
}

function readEntries({ publicOrigin }: DeviceContext, header: string | undefined): Entry[] {
  const value = readCookie(header, publicOrigin(), COOKIE) ?? ''
  return value
    .split('~', ACCOUNTS_MAX)
    .map(text => ENTRY.exec(text))
    .filter(found => found !== null)
    .map(([, nonce = '', signature = '']) => ({ nonce, signature }))
}

/**
 * The signature covers the hash of the password: a thief who knew an earlier password may have made
 * many devices known, and each would have attempts of its own.
 */
async function createSigner({ database, deviceKey }: DeviceContext, email: string) {
  const passwordHash = await findPasswordHashByEmail(database, email)
  return (nonce: string) =>
    createHmac('sha256', deviceKey)
      .update(JSON.stringify([nonce, email, passwordHash]))
      .digest('base64url')
}

function isSameText(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
