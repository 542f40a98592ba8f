import { html } from 'ghtml'

interface DeviceCodePage {
  /** Against forged forms. */
  xsrf: string
  userCode: string
  /** A sentence about what was typed before; null on the first visit. */
  fault: string | null
}

/** Where a person types the code that a device shows. */
export function deviceCodePage({ xsrf, userCode, fault }: DeviceCodePage) {
  const described = fault === null ? 'code-hint' : 'code-hint code-error'
  return {
    title: fault === null ? 'Connect a device' : 'Error: connect a device',
    body: html`<section class="card">
<h1>Connect a device</h1>
<p>Only go on when you started this yourself and the device is in front of you.</p>
<form method="post" action="/oauth2/device">
<input type="hidden" name="xsrf" value="${xsrf}">
<div class="field">
<label for="user_code">Code on the device</label>
<span class="hint" id="code-hint">Eight letters, for example WDJB-MJHT</span>
!${fault === null ? '' : html`<span class="error" id="code-error">${fault}</span>`}
<input id="user_code" name="user_code" value="${userCode}" required maxlength="20"
autocomplete="off" autocapitalize="characters" spellcheck="false"
aria-describedby="${described}"!${fault === null ? '' : ' aria-invalid="true" autofocus'}>
</div>
<button>Continue</button>
</form>
</section>`,
  }
}

interface DeviceConfirmPage {
  /** Against forged forms. */
  xsrf: string
  userCode: string
  clientName: string
}

/** Asks whether the code is the one on the person's own device (RFC 8628, section 5.4). */
export function deviceConfirmPage({ xsrf, userCode, clientName }: DeviceConfirmPage) {
  const hidden = html`<input type="hidden" name="xsrf" value="${xsrf}">
<input type="hidden" name="user_code" value="${userCode}">`
  return {
    title: 'Is this the code on your device?',
    body: html`<section class="card">
<h1>Is this the code on your device?</h1>
<p><strong class="code">${userCode}</strong></p>
<p><strong>${clientName}</strong> asks to be connected. If somebody sent you this code, refuse: they
would get access to your ad account.</p>
<form method="post" action="/oauth2/device">
!${hidden}
<div class="actions">
<button name="confirm" value="yes">Yes, it is the same</button>
<button name="abort" value="yes" class="quiet">No, refuse</button>
</div>
</form>
</section>`,
  }
}
