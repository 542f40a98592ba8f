import type { Match, ZxcvbnFactory } from '@zxcvbn-ts/core'

export const PASSWORD_CHARACTERS_MIN = 10
export const PASSWORD_CHARACTERS_MAX = 128

const PASSPHRASE_HINT = 'Several words make a good password.'
/** Shown in forms. */
export const PASSWORD_HINT = `At least ${PASSWORD_CHARACTERS_MIN} characters. ${PASSPHRASE_HINT}`

/** Whose password it is. */
export interface PasswordOwner {
  email: string
  name: string
}

const IS_PERSONAL = 'Do not use your name or email address.'
const IS_COMMON = `This password is easy to guess. ${PASSPHRASE_HINT}`

/**
 * Explains why a password is not acceptable, or returns null. Length counts, not kinds of
 * characters, and common passwords are refused (NIST SP 800-63B, 3.1.1). zxcvbn compares with
 * 40,000 common passwords, keyboard patterns, dates, repetitions and the user's own name and
 * address, and estimates how many guesses the password resists.
 */
export async function findPasswordError(
  password: string,
  owner: PasswordOwner,
): Promise<string | null> {
  if ([...password].length < PASSWORD_CHARACTERS_MIN) {
    return `Use at least ${PASSWORD_CHARACTERS_MIN} characters.`
  }
  if (password.length > PASSWORD_CHARACTERS_MAX) {
    return `Use at most ${PASSWORD_CHARACTERS_MAX} characters.`
  }
  if (containsAddress(password, owner)) return IS_PERSONAL
  const estimator = await loadEstimator()
  const result = estimator.check(password.slice(0, ESTIMATED_CHARACTERS_MAX), wordsOf(owner))
  if (result.score >= SCORE_MIN) return null
  return result.sequence.some(isPersonal) ? IS_PERSONAL : IS_COMMON
}

/** Of 0 to 4. 3 is "safely unguessable": at least 10^8 guesses. */
const SCORE_MIN = 3

/**
 * The estimate takes time with the square of the length, on the event loop: at most 40 ms for 64
 * characters of substitutions, 160 ms for 128 (measured).
 */
const ESTIMATED_CHARACTERS_MAX = 64

let estimatorOnce: Promise<ZxcvbnFactory> | null = null

/** Loaded on first use: the lists take 29 MB and 85 ms, and few processes check passwords. */
function loadEstimator(): Promise<ZxcvbnFactory> {
  estimatorOnce ??= createEstimator()
  return estimatorOnce
}

async function createEstimator(): Promise<ZxcvbnFactory> {
  const { ZxcvbnFactory } = await import('@zxcvbn-ts/core')
  const { dictionary, adjacencyGraphs } = await import('@zxcvbn-ts/language-common')
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs })
}

function containsAddress(password: string, { email }: PasswordOwner): boolean {
  return email !== '' && password.toLowerCase().includes(email.toLowerCase())
}

/** An attacker who knows the user and the service tries these words first. */
function wordsOf({ email, name }: PasswordOwner): string[] {
  const parts = [...email.split(/[^\p{L}\p{N}]+/u), ...name.split(/\s+/)]
  const joined = name.replaceAll(/\s+/g, '')
  const words = ['signalbox', email, email.split('@', 1)[0] ?? '', name, joined, ...parts]
  return words.filter(word => word.length >= WORD_CHARACTERS_MIN)
}

const WORD_CHARACTERS_MIN = 3

function isPersonal(match: Match): boolean {
  return 'dictionaryName' in match && String(match.dictionaryName).startsWith('userInputs')
}
