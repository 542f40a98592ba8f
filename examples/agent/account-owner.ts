import { readFileSync } from 'node:fs'
import { type ClientPage, PageClient } from '../../testing/fixtures/page-client.ts'

/** The owner of the ad account, who uses the pages and the browser API. */
export class AccountOwner {
  readonly #browser: PageClient
  readonly #credentials: Credentials

  constructor(credentials: Credentials) {
    this.#credentials = credentials
    this.#browser = new PageClient(new URL(credentials.base_url).origin)
  }

  async signIn(): Promise<void> {
    const { owner_email: email, owner_password: password } = this.#credentials
    await this.#browser.get('/sign-in')
    const page = await this.#browser.submit({ action: '/sign-in', fields: { email, password } })
    expectPage(page, 'signing in')
  }

  /** From now on, changes that this person approves are executed. */
  async enableApprovals(): Promise<void> {
    const path = `/browser${this.#workspace}/policy`
    const { version, limits } = (await this.#browser.call('GET', path)).body.policy
    const body = { version, limits, execution_mode: 'ask' }
    const { status } = await this.#browser.call('PUT', path, { body })
    if (status !== 200) throw new Error(`changing the policy answered ${status}`)
  }

  /** Approves an agent for the ad account. Returns the URL that the browser is redirected to. */
  async approveAgent(url: URL): Promise<URL> {
    const page = await this.#browser.get(`${url.pathname}${url.search}`)
    expectPage(page, 'the approval of an agent')
    const fields = { ad_account_id: String(this.#credentials.ad_account_id), decision: 'approve' }
    const after = await this.#browser.submit({ fields })
    return new URL(after.redirects.at(-1) ?? after.url, this.#browser.origin)
  }

  /** Decides on a proposal at the URL that its agent received. */
  async decide(inboxUrl: string, decision: 'approve' | 'reject', reason: string): Promise<void> {
    const { pathname } = new URL(inboxUrl)
    expectPage(await this.#browser.get(pathname), 'the proposal')
    const proposal = pathname.split('/').at(-1)
    const path = `/browser${this.#workspace}/approvals/${proposal}/decision`
    const { status } = await this.#browser.call('POST', path, { body: { decision, reason } })
    if (status !== 200) throw new Error(`deciding on a proposal answered ${status}`)
  }

  /** Revokes the newest active connection. */
  async revokeNewestConnection(): Promise<void> {
    const path = `/browser${this.#workspace}/connections`
    const { body } = await this.#browser.call('GET', path)
    const newest = body.connections
      .filter((connection: { revoked_at: string | null }) => connection.revoked_at === null)
      .toSorted((one: { id: number }, other: { id: number }) => other.id - one.id)[0]
    const { status } = await this.#browser.call('DELETE', `${path}/${newest.id}`)
    if (status >= 300) throw new Error(`ending a connection answered ${status}`)
  }

  /** Whether the audit log of the workspace is complete and unchanged. */
  async isLogIntact(): Promise<boolean> {
    const path = `/browser${this.#workspace}/audit/verification`
    const { status, body } = await this.#browser.call('POST', path)
    if (status !== 200) throw new Error(`verifying the audit log answered ${status}`)
    return body.is_intact
  }

  get #workspace(): string {
    return `/workspaces/${this.#credentials.workspace_id}`
  }
}

function expectPage({ status, path }: ClientPage, what: string): void {
  if (status !== 200) throw new Error(`${what}: ${path} answered ${status}`)
}

/** The credentials of the account owner. The agents only have the URL of the MCP server. */
export interface Credentials {
  base_url: string
  workspace_id: number
  ad_account_id: number
  owner_email: string
  owner_password: string
}

/** Throws an error with one readable sentence if the file cannot be used. */
export function readCredentials(path: string): Credentials {
  const { base_url, workspace_id, ad_account_id, owner_email, owner_password } = parse(path)
  const isWhole =
    [base_url, owner_email, owner_password].every(text => typeof text === 'string') &&
    [workspace_id, ad_account_id].every(id => typeof id === 'number')
  if (isWhole) {
    return { base_url, workspace_id, ad_account_id, owner_email, owner_password } as Credentials
  }
  throw new Error(`${path} has no owner of an ad account with a password, so no one could approve.`)
}

function parse(path: string): Partial<Record<keyof Credentials, unknown>> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) ?? {}
  } catch (cause) {
    throw new Error(`Cannot read credentials from ${path}: start the service with "npm start".`, {
      cause,
    })
  }
}
