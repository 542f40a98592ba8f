import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

export interface ScryptCost {
  /** The CPU and memory cost, as a power of two. */
  logN: number
  r: number
  p: number
}

/**
 * One of the five settings that OWASP's Password Storage Cheat Sheet lists as equally strong. This
 * one needs 32 MiB for each of the passwords that are hashed at once; `ln=17,r=8,p=1` needs 128.
 */
export const PASSWORD_COST: ScryptCost = { logN: 15, r: 8, p: 3 }
/** Hashes of versions up to 0.5.0: a third of the work. */
const EARLIER_COST: ScryptCost = { logN: 14, r: 16, p: 1 }
/** What an earlier hash lacks in work, so that refusing a password takes as long for all. */
const REMAINING_COST: ScryptCost = { logN: 15, r: 8, p: 2 }

const SALT_BYTES = 16
const KEY_BYTES = 64

/** Returns a salted scrypt hash in the PHC string format: `$scrypt$ln=15,r=8,p=3$salt$key`. */
export async function createPasswordHash(password: string, cost = PASSWORD_COST): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const key = await deriveKey(password, salt, cost)
  const { logN, r, p } = cost
  return `$scrypt$ln=${logN},r=${r},p=${p}$${toBase64(salt)}$${toBase64(key)}`
}

/** Throws when the hash has neither format, which only a damaged row has. */
export async function isPasswordCorrect(pair: {
  hash: string
  password: string
}): Promise<boolean> {
  const { hash, password } = pair
  const { salt, key, cost } = parsePasswordHash(hash)
  const isCorrect = timingSafeEqual(await deriveKey(password, salt, cost), key)
  if (!isCorrect && cost === EARLIER_COST) await deriveKey(password, salt, REMAINING_COST)
  return isCorrect
}

/** True for a hash that a sign-in replaces, because it was made with less work. */
export function isPasswordHashOutdated(hash: string, current = PASSWORD_COST): boolean {
  const { cost } = parsePasswordHash(hash)
  return cost.logN !== current.logN || cost.r !== current.r || cost.p !== current.p
}

interface ParsedHash {
  salt: Buffer | string
  key: Buffer
  cost: ScryptCost
}

const PHC_HASH = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([^$]+)\$([^$]{86})$/
/** better-auth's format. Its salt is the text, not the bytes that the text names. */
const EARLIER_HASH = /^([0-9a-f]{32}):([0-9a-f]{128})$/

function parsePasswordHash(hash: string): ParsedHash {
  const [, logN, r, p, salt = '', key = ''] = PHC_HASH.exec(hash) ?? []
  if (logN !== undefined) {
    const cost = { logN: Number(logN), r: Number(r), p: Number(p) }
    return { salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64'), cost }
  }
  const [, earlierSalt, earlierKey = ''] = EARLIER_HASH.exec(hash) ?? []
  if (earlierSalt === undefined) throw new Error('a stored password hash has no known format')
  return { salt: earlierSalt, key: Buffer.from(earlierKey, 'hex'), cost: EARLIER_COST }
}

/**
 * Of the four threads in Node's pool. The others log in to PostgreSQL and read files: behind ten
 * hashes, a new connection would exceed its five seconds on a slow machine.
 */
const HASHES_MAX = 2

let hashing = 0
/** In the order of their requests. */
const waiting: (() => void)[] = []

async function deriveKey(
  password: string,
  salt: Buffer | string,
  cost: ScryptCost,
): Promise<Buffer> {
  if (hashing === HASHES_MAX) await new Promise<void>(resolve => waiting.push(resolve))
  else hashing += 1
  try {
    return await runScrypt(password, salt, cost)
  } finally {
    const next = waiting.shift()
    if (next) next()
    else hashing -= 1
  }
}

/** Runs in Node's thread pool, outside of the event loop. */
function runScrypt(password: string, salt: Buffer | string, cost: ScryptCost): Promise<Buffer> {
  const { logN, r, p } = cost
  const N = 2 ** logN
  const options = { N, r, p, maxmem: 2 * 128 * N * r }
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}

function toBase64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
