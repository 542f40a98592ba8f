import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { page } from '../pages/layout.ts'
import { pageHeaders } from '../pages/page-headers.ts'
import { deviceCodePage } from './device-code-page.ts'
import { deviceConfirmPage } from './device-confirm-page.ts'
import { errorPage } from './error-page.ts'
import { messagePage } from './message-page.ts'

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

export function providerPages(): ProviderPages {
  return {
    async renderError(ctx, out) {
      show(ctx, errorPage(out))
    },
    async userCodeInput(ctx, _form, _out, error) {
      const fault = error ? deviceFault(error) : null
      if (error && fault === null) return show(ctx, errorPage({ error: 'invalid_request' }))
      const userCode = error?.userCode ?? prefilled(ctx)
      show(ctx, deviceCodePage({ xsrf: xsrfOf(ctx), userCode, fault }))
    },
    async userCodeConfirm(ctx, _form, client, _deviceInfo, userCode) {
      const clientName = client.clientName ?? 'A device'
      show(ctx, deviceConfirmPage({ xsrf: xsrfOf(ctx), userCode, clientName }))
    },
    async deviceSuccess(ctx) {
      show(ctx, APPROVED)
    },
  }
}

interface Shown {
  title: string
  body: string
}

function show(ctx: KoaContextWithOIDC, shown: Shown): void {
  ctx.set(pageHeaders())
  ctx.body = page(shown)
}

const APPROVED = messagePage({
  title: 'The device is connected',
  sentence: 'You can close this page and go on at the device.',
})

/** What became of a code that somebody typed; null when the trouble is another one. */
function deviceFault({ name }: Error): string | null {
  return DEVICE_FAULTS[name] ?? null
}

const DEVICE_FAULTS: Record<string, string> = {
  NoCodeError: 'Type the code that the device shows.',
  NotFoundError: 'No device shows this code; compare it letter by letter.',
  ExpiredError: 'This code is too old: let the device show a new one.',
  AlreadyUsedError: 'This code was used before: let the device show a new one.',
  AbortedError: 'You refused this device. It got nothing.',
}

/** Against forged forms; the library compares it with its own session. */
function xsrfOf(ctx: KoaContextWithOIDC): string {
  return (ctx.oidc.session as unknown as { state: { secret: string } }).state.secret
}

/** The code of a link, shown for the person to compare; it is sent only when they say so. */
function prefilled(ctx: KoaContextWithOIDC): string {
  return String((ctx.req as { prefilledUserCode?: string }).prefilledUserCode ?? '')
}
