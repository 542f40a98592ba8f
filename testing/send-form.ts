import type { BrowserClient, BrowserPage } from './browser-client.ts'

export type FormPairs = readonly (readonly [name: string, value: string])[]

/** What `BrowserClient.submit` cannot send: one name as often as it was chosen. */
export async function sendForm(
  client: BrowserClient,
  path: string,
  pairs: FormPairs,
): Promise<Pick<BrowserPage, 'status' | 'text' | 'redirects'>> {
  const body = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value]))
  const cookie = [...client.cookies].map(pair => pair.join('=')).join('; ')
  const headers = { cookie, origin: client.origin, 'sec-fetch-site': 'same-origin' }
  const order = { method: 'POST', redirect: 'manual', headers, body } as const
  const response = await fetch(client.origin + path, order)
  const location = response.headers.get('location')
  const text = await response.text()
  if (location === null) return { status: response.status, text, redirects: [] }
  return { ...(await client.get(location)), redirects: [location] }
}
