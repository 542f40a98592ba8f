import { createReadStream } from 'node:fs'

/** Meta's tokens have some 200 characters and no fixed length. */
const TOKEN_CHARACTERS_MAX = 2_000
/** More than a token and its line break: whatever is longer need not be read to its end. */
const BYTES_MAX = TOKEN_CHARACTERS_MAX + 2
const TOKEN = /^[\x21-\x7e]{1,2000}$/

/** There is no token where one was announced; the message is one sentence and never holds it. */
export class PlatformTokenError extends Error {
  override name = 'PlatformTokenError'
}

/**
 * Reads a platform's access token from a file, or from `standardInput` when the path is `-`. One
 * line break at the end does not belong to it. Throws a PlatformTokenError.
 */
export async function readPlatformToken(
  path: string,
  standardInput: AsyncIterable<Buffer>,
): Promise<string> {
  const place = path === '-' ? 'standard input' : path
  const stream = path === '-' ? standardInput : createReadStream(path)
  const text = await readBeginning(stream).catch(cause => {
    const { code } = cause as NodeJS.ErrnoException
    throw new PlatformTokenError(`The token cannot be read from ${place} (${code}).`, { cause })
  })
  const token = text.replace(/\r?\n$/, '')
  if (TOKEN.test(token)) return token
  throw new PlatformTokenError(
    `There is no token in ${place}: it must hold nothing but the token, 1 to 2,000 printable ` +
      'ASCII characters without spaces.',
  )
}

/** Byte by byte as it came, so that what is no ASCII is seen as such. */
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

/** Who passes a secret as an argument should hear why not, instead of how the command is used. */
export function rejectTokenArgument(argumentList: readonly string[]): void {
  if (!argumentList.some(argument => /^--(access[-_])?token(=|$)/.test(argument))) return
  throw new PlatformTokenError(
    'A token is never an argument, because arguments stand in the process list and in the ' +
      'history of the shell: put it into a file, or pipe it in, and name the file or -.',
  )
}
