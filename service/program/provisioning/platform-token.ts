import { createReadStream } from 'node:fs'
import {
  isPlatformToken,
  PLATFORM_TOKEN_CHARACTERS_MAX,
} from '../../runtime/util/sealed-credential.ts'

/** A token and its line break. Reading stops beyond this. */
const BYTES_MAX = PLATFORM_TOKEN_CHARACTERS_MAX + 2

/** The message is one sentence and never contains the token. */
export class PlatformTokenError extends Error {
  override name = 'PlatformTokenError'
}

/**
 * Reads a platform's access token from a file, or from `standardInput` when the path is `-`, and
 * drops one trailing line break. Throws a PlatformTokenError.
 */
export async function readPlatformToken(
  path: string,
  standardInput: AsyncIterable<Buffer>,
): Promise<string> {
  const source = path === '-' ? 'standard input' : path
  const stream = path === '-' ? standardInput : createReadStream(path)
  const text = await readBeginning(stream).catch(cause => {
    const { code } = cause as NodeJS.ErrnoException
    throw new PlatformTokenError(`The token cannot be read from ${source} (${code}).`, { cause })
  })
  const token = text.replace(/\r?\n$/, '')
  if (isPlatformToken(token)) return token
  throw new PlatformTokenError(
    `There is no token in ${source}: it must contain only the token, 1 to 2,000 printable ` +
      'ASCII characters without spaces.',
  )
}

/** Decodes as latin1, so that non-ASCII bytes are detected. */
async function readBeginning(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > BYTES_MAX) break
  }
  return Buffer.concat(chunks).toString('latin1')
}

/** Explains why a token is not accepted as an argument, instead of printing the usage. */
export function rejectTokenArgument(argumentList: readonly string[]): void {
  if (!argumentList.some(argument => /^--(access[-_])?token(=|$)/.test(argument))) return
  throw new PlatformTokenError(
    'Do not pass a token as an argument, because arguments appear in the process list and in the ' +
      'shell history: put it into a file, or pipe it in, and name the file or -.',
  )
}
