import { html } from 'ghtml'
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { renderPage } from '../pages/layout.ts'
import { pageHeaders } from '../pages/serve-pages.ts'
import { deviceCodePage, deviceConfirmPage } from './device-pages.ts'

/** What the library shows to a person, in our words and our look. */
export interface ProviderPages {
  renderError(ctx: KoaContextWithOIDC, out: ErrorOut): Promise<void>
  userCodeInput(
    ctx: KoaContextWithOIDC,
    form: string,
    out?: ErrorOut,
    error?: Error & { userCode?: string },
  ): Promise<void>
  userCodeConfirm(
    ctx: KoaContextWithOIDC,
    form: string,
    client: { clientName?: string | undefined },
    deviceInfo: object,
    userCode: string,
  ): Promise<void>
  deviceSuccess(ctx: KoaContextWithOIDC): Promise<void>
}

export function createProviderPages(): ProviderPages {
  return {
    async renderError(ctx, out) {
      sendPage(ctx, errorPage(out))
    },
    async userCodeInput(ctx, _form, _out, error) {
      const fault = error ? deviceCodeError(error) : null
      if (error && fault === null) return sendPage(ctx, errorPage({ error: 'invalid_request' }))
      const userCode = error?.userCode ?? readPrefilledUserCode(ctx)
      sendPage(ctx, deviceCodePage({ xsrf: readXsrfToken(ctx), userCode, fault }))
    },
    async userCodeConfirm(ctx, _form, client, _deviceInfo, userCode) {
      const clientName = client.clientName ?? 'A device'
      sendPage(ctx, deviceConfirmPage({ xsrf: readXsrfToken(ctx), userCode, clientName }))
    },
    async deviceSuccess(ctx) {
      sendPage(ctx, DEVICE_APPROVED)
    },
  }
}

interface PageContent {
  title: string
  body: string
}

function sendPage(ctx: KoaContextWithOIDC, shown: PageContent): void {
  ctx.set(pageHeaders())
  ctx.body = renderPage(shown)
}

const DEVICE_APPROVED = messagePage({
  title: 'The device is connected',
  sentence: 'You can close this page and go on at the device.',
})

/** What became of a code that somebody typed; null when the trouble is another one. */
function deviceCodeError({ name }: Error): string | null {
  return DEVICE_CODE_ERRORS[name] ?? null
}

const DEVICE_CODE_ERRORS: Record<string, string> = {
  NoCodeError: 'Type the code that the device shows.',
  NotFoundError: 'No device shows this code; compare it letter by letter.',
  ExpiredError: 'This code is too old: let the device show a new one.',
  AlreadyUsedError: 'This code was used before: let the device show a new one.',
  AbortedError: 'You refused this device. It got nothing.',
}

/** Against forged forms; the library compares it with its own session. */
function readXsrfToken(ctx: KoaContextWithOIDC): string {
  return (ctx.oidc.session as unknown as { state: { secret: string } }).state.secret
}

/** The code of a link, shown for the person to compare; it is sent only when they say so. */
function readPrefilledUserCode(ctx: KoaContextWithOIDC): string {
  return String((ctx.req as { prefilledUserCode?: string }).prefilledUserCode ?? '')
}

/** In the words of OAuth, where the client cannot be told because nobody knows whom to trust. */
interface ErrorParameters {
  error: string
  error_description?: string | undefined
}

/**
 * What a person sees when a request of an agent cannot even be answered to the agent: the return
 * address is not its own, or the request is too old. It names no value of the request.
 */
export function errorPage({ error }: ErrorParameters): { title: string; body: string } {
  const sentence = ERROR_TEXTS[error] ?? DEFAULT_ERROR_TEXT
  return messagePage({ title: 'This connection cannot be made', sentence })
}

const ERROR_TEXTS: Record<string, string> = {
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

const DEFAULT_ERROR_TEXT =
  'The request of the agent is incomplete or wrong. Start again in the agent.'

interface MessagePage {
  title: string
  sentence: string
}

/** A page that only says something. */
function messagePage({ title, sentence }: MessagePage): { title: string; body: string } {
  return {
    title,
    body: html`<section class="card">
<h1>${title}</h1>
<p>${sentence}</p>
</section>`,
  }
}
