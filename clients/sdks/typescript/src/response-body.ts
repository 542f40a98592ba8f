/** An answer is held in memory. The largest page of the API is far below this. */
const BODY_BYTES_MAX = 32 * 1_048_576

/** Reads a body as text. Null when it is too large. */
export async function readBody(response: Response): Promise<string | null> {
  if (!response.body) return ''
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > BODY_BYTES_MAX) {
      await reader.cancel()
      return null
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** Parses a body in which amounts stay text. Null when it is not JSON. */
export function parseBody(text: string): unknown {
  try {
    return JSON.parse(quoteMoney(text))
  } catch {
    return null
  }
}

/** Members of the API that are money and numbers. */
const MONEY_MEMBER = 'value_amount'

/** A whole string, and the number that follows it if it is the name of a member. */
const STRING_AND_NUMBER = /"((?:[^"\\]|\\.)*)"(?:(\s*:\s*)(-?\d[\d.eE+-]*))?/g

/** Makes text of amounts before a number of 64 bits could change their digits. */
function quoteMoney(text: string): string {
  if (!text.includes(MONEY_MEMBER)) return text
  return text.replace(STRING_AND_NUMBER, (all, name, colon, number) =>
    name === MONEY_MEMBER && number !== undefined ? `"${name}"${colon}"${number}"` : all,
  )
}
