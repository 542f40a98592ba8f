import { randomBytes } from 'node:crypto'

/** What registering answered. */
interface ClientInformation {
  client_id: string
}

interface Tokens {
  access_token: string
  token_type: string
}

/**
 * What the official clients, old and new, ask of whoever uses them: to keep things, and to show an
 * address to the person. Everything is forgotten with the process.
 */
export class MemoryProvider {
  readonly redirectUrl = 'http://127.0.0.1:8765/callback'
  readonly clientMetadata: {
    client_name: string
    redirect_uris: string[]
    grant_types: string[]
    response_types: string[]
    token_endpoint_auth_method: string
  }
  /** Where the person is asked; null until the client needs them. */
  authorizationUrl: URL | null = null
  readonly #state = randomBytes(16).toString('base64url')
  #client: ClientInformation | undefined
  #tokens: Tokens | undefined
  #discovered: unknown
  #verifier = ''

  constructor(name: string) {
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  }

  state(): string {
    return this.#state
  }

  // biome-ignore-start lint/suspicious/noExplicitAny: the two libraries type these differently
  clientInformation(): any {
    return this.#client
  }

  saveClientInformation(information: any): void {
    this.#client = information
  }

  tokens(): any {
    return this.#tokens
  }

  saveTokens(tokens: any): void {
    this.#tokens = tokens
  }

  /** Which authorization server was found, so that the code goes to no other. */
  discoveryState(): any {
    return this.#discovered
  }

  saveDiscoveryState(state: any): void {
    this.#discovered = state
  }
  // biome-ignore-end lint/suspicious/noExplicitAny: see above

  /** What the server does not take any more is thrown away, whatever else is kept. */
  invalidateCredentials(scope: string): void {
    if (scope === 'tokens' || scope === 'all') this.#tokens = undefined
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  /** The callback that the person's browser was sent to; throws unless it answers our question. */
  checkedCallback(callback: URL): URLSearchParams {
    const { searchParams } = callback
    if (searchParams.get('state') !== this.#state) throw new Error('the callback is not ours')
    if (!searchParams.has('code')) throw new Error(`the callback says ${callback.search}`)
    return searchParams
  }
}
