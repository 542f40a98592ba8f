import { html } from 'ghtml'
import { errorSummary } from '../pages/form-controls.ts'
import type { OwnedAdAccount } from '../people/ad-account-store.ts'
import type { ApprovalRequest } from './connection-approval.ts'
import { PERMISSION_LABELS, RESOURCES } from './permissions.ts'
import { describeRedirectUri } from './redirect-uri.ts'

export interface ConsentPage {
  approval: ApprovalRequest
  /** Those that the person may choose from. */
  adAccounts: readonly OwnedAdAccount[]
  /** A sentence about what was sent before; null on the first visit. */
  fault: string | null
}

/**
 * The page on which a person approves or refuses: who asks (and that nobody checked), where they
 * are sent, what exactly is allowed, and for which one ad account. Nothing is chosen for them when
 * there are several.
 */
export function consentPage({ approval, adAccounts, fault }: ConsentPage) {
  const { clientName, redirectUri } = approval
  const faults = fault === null ? {} : { [firstChoiceId(adAccounts)]: fault }
  const title = `Connect ${clientName}?`
  return {
    title: fault === null ? title : `Error: ${title}`,
    body: html`<section class="card">
!${errorSummary(faults)}
<h1>Connect “${clientName}”?</h1>
<div class="message notice"><p><strong>Not verified.</strong> Anybody can use this name. Go on only
if you started this yourself.</p></div>
<dl>
<dt>You are sent to</dt>
<dd><strong>${redirectTarget(redirectUri)}</strong></dd>
<dt>It will be allowed to</dt>
<dd><ul>!${permissionItems(approval)}</ul></dd>
</dl>
!${adAccounts.length === 0 ? noAdAccountForm() : choiceForm(adAccounts)}
</section>`,
  }
}

function redirectTarget(redirectUri: string | null): string {
  return redirectUri === null
    ? 'your device: this page stays here'
    : describeRedirectUri(redirectUri)
}

function permissionItems({ audience }: ApprovalRequest): string {
  return RESOURCES[audience].permissions
    .map(permission => html`<li>${PERMISSION_LABELS[permission]}</li>`)
    .join('')
}

function choiceForm(adAccounts: readonly OwnedAdAccount[]): string {
  const isOnly = adAccounts.length === 1
  return html`<form method="post">
<fieldset>
<legend>For one ad account</legend>
!${adAccounts.map(account => adAccountChoice(account, isOnly)).join('')}
</fieldset>
<p class="hint">You can take this back at any time, under Connections of the workspace.</p>
<div class="actions">
<button name="decision" value="approve">Approve</button>
<button name="decision" value="deny" class="quiet">Refuse</button>
</div>
</form>`
}

function adAccountChoice(account: OwnedAdAccount, isChosen: boolean): string {
  const { adAccountId, name, platform, platformAccountId, currency, workspaceName } = account
  return html`<label class="choice">
<input type="radio" name="ad_account_id" id="ad-account-${adAccountId}"
value="${adAccountId}"!${isChosen ? ' checked' : ''}>
<span><strong>${name}</strong><br>
<small>${workspaceName} · ${platform} ${platformAccountId} · ${currency}</small></span>
</label>`
}

function noAdAccountForm(): string {
  return html`<div class="message danger"><p>You own no active ad account, so there is nothing to
connect. Add one under <a href="/workspaces">your workspaces</a>, then start again in the
agent.</p></div>
<form method="post">
<button name="decision" value="deny" class="quiet">Refuse and go back</button>
</form>`
}

function firstChoiceId([account]: readonly OwnedAdAccount[]): string {
  return account ? `ad-account-${account.adAccountId}` : ''
}
