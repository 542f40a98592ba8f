import { html } from 'ghtml'

export interface DeviceConfirmation {
  /** Against forged forms. */
  xsrf: string
  userCode: string
  clientName: string
}

/** Asks whether the code is the one on the person's own device (RFC 8628, section 5.4). */
export function deviceConfirmPage({ xsrf, userCode, clientName }: DeviceConfirmation) {
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
