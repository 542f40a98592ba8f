/** An answer of any kind, or why there was none. */
export type HttpAnswer =
  | { status: number; text: string; date: Date | null }
  | { status: null; code: string }

const MILLISECONDS_MAX = 5_000
const TEXT_CHARACTERS_MAX = 65_536

/** A GET request without a credential that follows no redirect. Never throws. */
export async function requestPage(url: string): Promise<HttpAnswer> {
  try {
    const signal = AbortSignal.timeout(MILLISECONDS_MAX)
    const response = await fetch(url, { redirect: 'manual', signal })
    const text = (await response.text()).slice(0, TEXT_CHARACTERS_MAX)
    const date = new Date(response.headers.get('date') ?? '')
    return { status: response.status, text, date: Number.isNaN(date.getTime()) ? null : date }
  } catch (error) {
    return { status: null, code: findErrorCode(error) }
  }
}

/** `fetch` wraps the reason: ECONNREFUSED, ENOTFOUND, CERT_HAS_EXPIRED, or that time ran out. */
function findErrorCode(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: unknown } }
  return String(cause?.code ?? (name === 'TimeoutError' ? 'no answer within 5 s' : 'no response'))
}
