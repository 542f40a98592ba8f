import { html } from 'ghtml'

interface DeviceCodePage {
  /** Prevents forged forms (CSRF). */
  xsrf: string
  userCode: string
  /** The error of the submitted code; null on the first visit. */
  error: string | null
}

/** The page to enter the code that a device shows. */
export function deviceCodePage({ xsrf, userCode, error }: DeviceCodePage) {
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
export function deviceConfirmPage({ xsrf, userCode, clientName }: DeviceConfirmPage) {
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
