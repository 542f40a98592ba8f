import { html } from 'ghtml'

export interface DeviceCode {
  /** Against forged forms. */
  xsrf: string
  userCode: string
  /** A sentence about what was typed before; null on the first visit. */
  fault: string | null
}

/** Where a person types the code that a device shows. */
export function deviceCodePage({ xsrf, userCode, fault }: DeviceCode) {
  const described = fault === null ? 'code-hint' : 'code-hint code-fault'
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
!${fault === null ? '' : html`<span class="fault" id="code-fault">${fault}</span>`}
<input id="user_code" name="user_code" value="${userCode}" required maxlength="20"
autocomplete="off" autocapitalize="characters" spellcheck="false"
aria-describedby="${described}"!${fault === null ? '' : ' aria-invalid="true" autofocus'}>
</div>
<button>Continue</button>
</form>
</section>`,
  }
}
