/** What a page answered, with what a person could do next on it. */
export interface BrowserPage {
  status: number
  /** Path and query after all redirects. */
  path: string
  url: string
  headers: Headers
  text: string
  /** Paths and URLs that were gone through on the way, in their order. */
  redirects: string[]
}

export interface Submission {
  /** Which form, by its action's path; without it the first one of the page besides signing out. */
  action?: string
  /** Values over those that stand in the form. */
  fields?: Record<string, string>
  /** The button that is pressed, by its name and value. */
  button?: readonly [name: string, value: string]
}

const REDIRECTS_MAX = 10

/**
 * A browser without JavaScript: it keeps cookies, follows redirects on its own origin by hand and
 * submits forms as they stand in the page, hidden fields and all. It sends `Origin` and
 * `Sec-Fetch-Site` as browsers do. A redirect elsewhere is returned, not followed.
 */
export class BrowserClient {
  readonly origin: string
  readonly cookies = new Map<string, string>()
  page: BrowserPage | null = null

  constructor(origin: string) {
    this.origin = origin
  }

  get(path: string, headers: Record<string, string> = {}): Promise<BrowserPage> {
    return this.#go('GET', path, { headers })
  }

  /** Posts fields as a form of this origin would. */
  post(
    path: string,
    fields: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<BrowserPage> {
    return this.#go('POST', path, { form: new URLSearchParams(fields), headers })
  }

  /** Submits a form of the page that is open. */
  submit({ action, fields = {}, button }: Submission = {}): Promise<BrowserPage> {
    const { page } = this
    if (!page) throw new Error('no page is open')
    const form = formsOf(page.text).find(found =>
      action === undefined ? found.action !== '/sign-out' : pathOf(found.action, page) === action,
    )
    if (!form) throw new Error(`no form ${action ?? ''} on ${page.path} (${page.status})`)
    const sent = new URLSearchParams({ ...form.fields, ...fields })
    if (button) sent.set(...button)
    return this.#go('POST', pathOf(form.action, page), { form: sent, headers: {} })
  }

  /** A request of a page's script: JSON, cookies, no redirects followed. */
  async call(
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
    // biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of any answer
  ): Promise<{ status: number; headers: Headers; body: any }> {
    const response = await fetch(`${this.origin}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...this.#browserHeaders(),
        ...(method === 'GET' ? {} : { origin: this.origin }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    this.#keepCookies(response.headers)
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: parsed(text) }
  }

  async #go(method: string, path: string, options: GoOptions): Promise<BrowserPage> {
    const redirects: string[] = []
    let url = new URL(path, this.origin)
    let response = await this.#send(method, url, options)
    while (response.status >= 300 && response.status < 400 && response.headers.has('location')) {
      const next = new URL(response.headers.get('location') ?? '', url)
      redirects.push(next.origin === this.origin ? `${next.pathname}${next.search}` : next.href)
      if (next.origin !== this.origin) break
      if (redirects.length > REDIRECTS_MAX) throw new Error(`a circle: ${redirects.join(' ')}`)
      await response.body?.cancel()
      url = next
      response = await this.#send('GET', url, { headers: {} })
    }
    this.page = {
      status: response.status,
      path: `${url.pathname}${url.search}`,
      url: url.href,
      headers: response.headers,
      text: await response.text(),
      redirects,
    }
    return this.page
  }

  async #send(method: string, url: URL, { form, headers }: GoOptions): Promise<Response> {
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        ...this.#browserHeaders(),
        ...(method === 'POST' ? { origin: this.origin } : {}),
        ...headers,
      },
      ...(form ? { body: form } : {}),
    })
    this.#keepCookies(response.headers)
    return response
  }

  #browserHeaders(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    return { 'sec-fetch-site': 'same-origin', ...(cookie === '' ? {} : { cookie }) }
  }

  #keepCookies(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';')
      const at = pair.indexOf('=')
      const [name, value] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
      const isEnded = attributes.some(text => /^\s*max-age=0\s*$|expires=.*1970/i.test(text))
      if (isEnded || value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
  }
}

interface GoOptions {
  form?: URLSearchParams
  headers: Record<string, string>
}

interface FoundForm {
  action: string
  fields: Record<string, string>
}

/** Every form that posts, with the values that would be sent without touching anything. */
export function formsOf(html: string): FoundForm[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(
    ([, head = '', body = '']) => ({
      action: attributeOf(head, 'action') ?? '',
      fields: { ...inputsOf(body), ...selectsOf(body) },
    }),
  )
}

function inputsOf(html: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [, attributes = ''] of html.matchAll(/<input\b([^>]*)>/g)) {
    const name = attributeOf(attributes, 'name')
    const type = attributeOf(attributes, 'type') ?? 'text'
    const isChosen = !['radio', 'checkbox'].includes(type) || /\bchecked\b/.test(attributes)
    if (name !== undefined && isChosen) fields[name] = attributeOf(attributes, 'value') ?? ''
  }
  return fields
}

function selectsOf(html: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [, attributes = '', body = ''] of html.matchAll(
    /<select\b([^>]*)>([\s\S]*?)<\/select>/g,
  )) {
    const options = [...body.matchAll(/<option\b([^>]*)>/g)].map(([, option = '']) => option)
    const chosen = options.find(option => /\bselected\b/.test(option)) ?? options[0] ?? ''
    const name = attributeOf(attributes, 'name')
    if (name !== undefined) fields[name] = attributeOf(chosen, 'value') ?? ''
  }
  return fields
}

function attributeOf(attributes: string, name: string): string | undefined {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1]
  return value === undefined ? undefined : unescapeHtml(value)
}

export function unescapeHtml(text: string): string {
  return text
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(/&#x([\da-f]+);/gi, (_, code: string) =>
      String.fromCodePoint(Number.parseInt(code, 16)),
    )
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

function pathOf(action: string, { url }: BrowserPage): string {
  const { pathname, search } = new URL(action === '' ? url : action, url)
  return `${pathname}${search}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text === '' ? null : text
  }
}
