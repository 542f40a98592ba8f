import { messagePage } from './message-page.ts'

/** In the words of OAuth, where the client cannot be told because nobody knows whom to trust. */
export interface OauthFailure {
  error: string
  error_description?: string | undefined
}

/**
 * What a person sees when a request of an agent cannot even be answered to the agent: the return
 * address is not its own, or the request is too old. It names no value of the request.
 */
export function errorPage({ error }: OauthFailure): { title: string; body: string } {
  const sentence = SENTENCES[error] ?? OTHERWISE
  return messagePage({ title: 'This connection cannot be made', sentence })
}

const SENTENCES: Record<string, string> = {
  invalid_client:
    'No agent is known by the name that was given. Start again in the agent, so that it registers.',
  invalid_redirect_uri:
    'The agent asks to send you to an address that it never registered. Start again in the ' +
    'agent; if this page comes back, do not trust it.',
  session_not_found:
    'This request is too old, or was begun in another browser. Start again in the agent.',
  access_denied: 'You refused this device. It got nothing.',
  server_error: 'Something went wrong on our side. Wait a minute, then start again in the agent.',
}

const OTHERWISE = 'The request of the agent is incomplete or wrong. Start again in the agent.'
