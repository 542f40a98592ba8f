import { html } from 'ghtml'
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { renderPage } from '../../runtime/pages/layout.ts'
import { pageHeaders } from '../../runtime/pages/serve-pages.ts'
import { describeRedirectUri } from './client-metadata.ts'

/** The name of the error of a code that was entered too often, for its page. */
export const USER_CODE_LIMITED = 'UserCodeLimitedError'

/** The pages that the library shows to people, in our design. */
export interface ProviderPages {
  renderError(ctx: KoaContextWithOIDC, out: ErrorOut): Promise<void>
  /** For an error that the agent learns of only if the user follows the link. */
  renderErrorLink(ctx: PageContext, link: ErrorLink): void
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
    renderErrorLink(ctx, link) {
      sendPage(ctx, errorLinkPage(link))
    },
    async userCodeInput(ctx, _form, _out, error) {
      const message = error ? deviceCodeError(error) : null
      if (error && message === null) {
        // This page has no form. The library would fail to store a session that is new.
        Object.assign(ctx.oidc.session ?? {}, { touched: false })
        return sendPage(ctx, errorPage({ error: 'invalid_request' }))
      }
      const userCode = error?.userCode ?? readPrefilledUserCode(ctx)
      sendPage(ctx, deviceCodePage({ xsrf: readXsrfToken(ctx), userCode, error: message }))
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

type PageContext = Pick<KoaContextWithOIDC, 'set' | 'body'>

function sendPage(ctx: PageContext, content: PageContent): void {
  ctx.set(pageHeaders())
  ctx.body = renderPage(content)
}

const DEVICE_APPROVED = messagePage({
  title: 'Device connected',
  text: 'You can close this page and continue on the device.',
})

/** Explains what is wrong with an entered code; null for any other error. */
function deviceCodeError({ name }: Error): string | null {
  return DEVICE_CODE_ERRORS[name] ?? null
}

const DEVICE_CODE_ERRORS: Record<string, string> = {
  NoCodeError: 'Enter the code that the device shows.',
  NotFoundError: 'Code not found. Check it and try again.',
  ExpiredError: 'This code has expired. Get a new one on the device.',
  AlreadyUsedError: 'This code was already used. Get a new one on the device.',
  AbortedError: 'You denied this device access.',
  [USER_CODE_LIMITED]: 'This code was entered too often. Wait a minute, or get a new one.',
}

/** The CSRF token, which the library compares with its session. */
function readXsrfToken(ctx: KoaContextWithOIDC): string {
  return (ctx.oidc.session as unknown as { state: { secret: string } }).state.secret
}

/** The code of a link, for the user to compare and submit. */
function readPrefilledUserCode(ctx: KoaContextWithOIDC): string {
  return String((ctx.req as { prefilledUserCode?: string }).prefilledUserCode ?? '')
}

/** An OAuth error that cannot be sent to the client, because it is not trusted. */
interface ErrorParameters {
  error: string
  error_description?: string | undefined
}

/**
 * The page for an error that cannot be returned to the agent: its redirect URI is not registered,
 * or the request expired. It contains no value of the request.
 */
export function errorPage({ error }: ErrorParameters): { title: string; body: string } {
  const text = ERROR_TEXTS[error] ?? DEFAULT_ERROR_TEXT
  return messagePage({ title: 'Connection failed', text })
}

const ERROR_TEXTS: Record<string, string> = {
  invalid_client: 'The agent is not registered. Start again in the agent, so that it registers.',
  invalid_redirect_uri:
    'The agent wants to redirect you to an address that it never registered. Start again in the ' +
    'agent. If this page appears again, do not trust the agent.',
  session_not_found:
    'This request expired or was started in another browser. Start again in the agent.',
  access_denied: 'You denied this device access.',
  server_error: 'Something went wrong on our side. Wait a minute, then start again in the agent.',
}

const DEFAULT_ERROR_TEXT =
  'The request of the agent is incomplete or invalid. Start again in the agent.'

interface ErrorLink {
  error: string
  /** The redirect URI with the error. */
  href: string
}

/** The same page with a link to where the agent wants the user to go. */
function errorLinkPage({ error, href }: ErrorLink): PageContent {
  const text = ERROR_TEXTS[error] ?? DEFAULT_ERROR_TEXT
  const title = 'Connection failed'
  return {
    title,
    body: html`<section class="card">
<h1>${title}</h1>
<p>${text}</p>
<p>An unverified agent wants you to go to ${describeRedirectUri(href)}. If you did not
start this, close the page.</p>
<p><a href="${href}" rel="noreferrer">Go to ${describeRedirectUri(href)}</a></p>
</section>`,
  }
}

interface MessagePage {
  title: string
  text: string
}

function messagePage({ title, text }: MessagePage): { title: string; body: string } {
  return {
    title,
    body: html`<section class="card">
<h1>${title}</h1>
<p>${text}</p>
</section>`,
  }
}

interface DeviceCodePage {
  /** Prevents forged forms (CSRF). */
  xsrf: string
  userCode: string
  /** The error of the submitted code; null on the first visit. */
  error: string | null
}

/** The page to enter the code that a device shows. */
function deviceCodePage({ xsrf, userCode, error }: DeviceCodePage) {
  const describedBy = error === null ? 'code-hint' : 'code-hint code-error'
  return {
    title: error === null ? 'Connect a device' : 'Error: connect a device',
    body: html`<section class="card">
<h1>Connect a device</h1>
<p>Continue only if you started this yourself and the device is in front of you.</p>
<form method="post" action="/oauth2/device">
<input type="hidden" name="xsrf" value="${xsrf}">
<div class="field">
<label for="user_code">Code on the device</label>
<span class="hint" id="code-hint">Eight letters, for example WDJB-MJHT</span>
!${error === null ? '' : html`<span class="error" id="code-error">${error}</span>`}
<input id="user_code" name="user_code" value="${userCode}" required maxlength="20"
autocomplete="off" autocapitalize="characters" spellcheck="false"
aria-describedby="${describedBy}"!${error === null ? '' : ' aria-invalid="true" autofocus'}>
</div>
<button>Continue</button>
</form>
</section>`,
  }
}

interface DeviceConfirmPage {
  /** Prevents forged forms (CSRF). */
  xsrf: string
  userCode: string
  clientName: string
}

/** Confirms that the code is on the user's own device (RFC 8628, section 5.4). */
function deviceConfirmPage({ xsrf, userCode, clientName }: DeviceConfirmPage) {
  const hidden = html`<input type="hidden" name="xsrf" value="${xsrf}">
<input type="hidden" name="user_code" value="${userCode}">`
  return {
    title: 'Is this the code on your device?',
    body: html`<section class="card">
<h1>Is this the code on your device?</h1>
<p><strong class="code">${userCode}</strong></p>
<p><strong><bdi>${clientName}</bdi></strong> requests access. If someone sent you this code, deny
it: they would get access to your ad account.</p>
<form method="post" action="/oauth2/device">
!${hidden}
<div class="actions">
<button name="confirm" value="yes">Yes, it matches</button>
<button name="abort" value="yes" class="quiet">No, deny</button>
</div>
</form>
</section>`,
  }
}
