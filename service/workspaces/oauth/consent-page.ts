import { html } from 'ghtml'
import { errorSummary } from '../../runtime/pages/form-controls.ts'
import type { OwnedAdAccount } from '../users/ad-account-store.ts'
import type { ApprovalRequest } from './connection-approval.ts'
import { PERMISSION_LABELS, RESOURCES } from './permissions.ts'
import { describeRedirectUri } from './redirect-uri.ts'

interface ConsentPage {
  approval: ApprovalRequest
  /** The ad accounts to choose from. */
  adAccounts: readonly OwnedAdAccount[]
  /** The error of the submitted form; null on the first visit. */
  error: string | null
}

/**
 * The consent page: who requests access (not verified), where the user is redirected, what is
 * allowed, and for which ad account. None is preselected when there are several.
 */
export function consentPage({ approval, adAccounts, error }: ConsentPage) {
  const { clientName, redirectUri } = approval
  const errors = error === null ? {} : { [firstChoiceId(adAccounts)]: error }
  const title = `Connect ${clientName}?`
  return {
    title: error === null ? title : `Error: ${title}`,
    body: html`<section class="card">
!${errorSummary(errors)}
<h1>Connect “<bdi>${clientName}</bdi>”?</h1>
<div class="message notice"><p><strong>Not verified.</strong> Anyone can use this name. Continue
only if you started this request.</p></div>
<dl>
<dt>Redirects to</dt>
<dd><strong>${redirectTarget(redirectUri)}</strong></dd>
<dt>Permissions</dt>
<dd><ul>!${permissionItems(approval)}</ul></dd>
</dl>
!${adAccounts.length === 0 ? noAdAccountForm() : choiceForm(adAccounts)}
</section>`,
  }
}

function redirectTarget(redirectUri: string | null): string {
  return redirectUri === null
    ? 'your device; this page stays open'
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
<legend>Ad account</legend>
!${adAccounts.map(account => adAccountChoice(account, isOnly)).join('')}
</fieldset>
<p class="hint">You can revoke this at any time, on the Agents page of the workspace.</p>
<div class="actions">
<button name="decision" value="approve">Approve</button>
<button name="decision" value="deny" class="quiet">Deny</button>
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
  return html`<div class="message danger"><p>You do not own an active ad account to
connect. Add one under <a href="/workspaces">your workspaces</a>, then start again in the
agent.</p></div>
<form method="post">
<button name="decision" value="deny" class="quiet">Deny and go back</button>
</form>`
}

function firstChoiceId([account]: readonly OwnedAdAccount[]): string {
  return account ? `ad-account-${account.adAccountId}` : ''
}
