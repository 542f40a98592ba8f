import { hash } from 'node:crypto'
import { PERMISSION_LABELS } from '@signalbox/contract/session/agent-permissions.ts'
import { html } from 'ghtml'
import { commitAudited } from '../../audit/audit-store.ts'
import { errorSummary } from '../../runtime/pages/form-controls.ts'
import type { OwnedAdAccount } from '../users/ad-account-store.ts'
import type { CurrentUser } from '../users/session-store.ts'
import { userActor } from '../users/workspaces.ts'
import type { HttpExchange } from './authorization-server.ts'
import { describeRedirectUri, isDocumentUrl } from './client-metadata.ts'
import { type Approval, saveApproval } from './connection-store.ts'
import type { ChangeContext } from './connections.ts'
import type { OauthContext } from './oauth-responses.ts'
import {
  APPROVAL_DAYS,
  type Audience,
  findAudienceByResource,
  RESOURCES,
  resourceUri,
} from './permissions.ts'
import type { AuthorizationServer } from './provider.ts'
import { artifactDigest } from './provider-adapter.ts'

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
!${publisherItem(approval)}
<dt>Redirects to</dt>
<dd><strong>${redirectTarget(redirectUri)}</strong></dd>
<dt>Permissions</dt>
<dd><ul>!${permissionItems(approval)}</ul></dd>
</dl>
!${adAccounts.length === 0 ? noAdAccountForm() : choiceForm(adAccounts)}
</section>`,
  }
}

/** The host that describes the client proves more than its name, which anyone can use. */
function publisherItem({ clientId }: ApprovalRequest): string {
  if (!isDocumentUrl(clientId)) return ''
  return html`<dt>Described at</dt><dd><strong>${new URL(clientId).host}</strong></dd>`
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
<p class="hint">The access ends after ${APPROVAL_DAYS} days. You can revoke it at any time, on the
Agents page of the workspace.</p>
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

interface ApprovalDecision {
  exchange: HttpExchange
  user: CurrentUser
  approval: ApprovalRequest
  /** An ad account that the user owns; null when they deny. */
  adAccount: OwnedAdAccount | null
}

/**
 * Applies a user's decision and returns the URL to continue at. An approval binds client, user,
 * permissions and ad account into one connection. It is stored before the grant, so that no token
 * can exist without a connection. Submitting the page twice is one approval.
 */
export async function decideApproval(
  context: OauthContext,
  { exchange, user, approval, adAccount }: ApprovalDecision,
): Promise<string> {
  const provider = await context.provider()
  const { raw: request } = exchange.request
  const { raw: response } = exchange.reply
  const options = { mergeWithLastSubmission: false }
  if (!adAccount) {
    const denial = { error: 'access_denied', error_description: 'the person denied access' }
    return provider.interactionResult(request, response, denial, options)
  }
  const accountId = String(user.userId)
  const { audience, clientId } = approval
  const grantId = artifactDigest(`grant of ${approval.uid}`)
  await saveApprovalWithAudit(context, {
    grantId,
    clientId,
    userId: user.userId,
    workspaceId: adAccount.workspaceId,
    adAccountId: adAccount.adAccountId,
    audience,
    permissions: RESOURCES[audience].permissions,
    name: approval.clientName,
    approvedAt: context.now(),
  })
  const grant = new provider.Grant({ accountId, clientId })
  grant.jti = grantId
  grant.addResourceScope(resourceUri(context.publicOrigin(), audience), RESOURCES[audience].scope)
  await grant.save()
  const result = { login: { accountId, remember: false }, consent: { grantId } }
  return provider.interactionResult(request, response, result, options)
}

/** Does not audit an approval that is stored already. */
async function saveApprovalWithAudit(context: ChangeContext, approval: Approval) {
  const { workspaceId, userId, clientId, adAccountId, audience, permissions } = approval
  await commitAudited(context, async (transaction, record) => {
    const connectionId = await saveApproval(transaction, approval)
    if (connectionId === null) return
    record({
      workspaceId,
      at: approval.approvedAt,
      actor: userActor({ userId }),
      action: 'connection.approved',
      subject: { type: 'connection', id: String(connectionId) },
      details: { ...auditedClient(clientId), ad_account_id: adAccountId, audience, permissions },
    })
  })
}

/** The ID of a client, or where it is described: audit entries hold no text that others wrote. */
function auditedClient(clientId: string) {
  if (!isDocumentUrl(clientId)) return { client_id: clientId }
  return { client_url_sha256: hash('sha256', clientId) }
}

export interface ApprovalRequest {
  uid: string
  clientId: string
  /** Chosen by the client; not verified. */
  clientName: string
  audience: Audience
  /** Where the user is redirected afterwards; null for a device. */
  redirectUri: string | null
}

/**
 * Returns the pending request of this browser, by its cookie and the uid of the page. Returns null
 * when there is none, when it expired, or when it was decided before.
 */
export async function findApprovalRequest(
  { provider, publicOrigin }: OauthContext,
  { exchange, uid }: { exchange: HttpExchange; uid: string },
): Promise<ApprovalRequest | null> {
  const server = await provider()
  const interaction = await findInteraction(server, exchange)
  if (interaction?.uid !== uid || interaction.result) return null
  const { client_id: clientId, redirect_uri: redirectUri, resource } = interaction.params
  const client = await server.Client.find(String(clientId))
  const audience = findAudienceByResource(publicOrigin(), String([resource].flat()[0]))
  if (!client || audience === null) return null
  return {
    uid,
    clientId: client.clientId,
    clientName: client.clientName ?? 'Unnamed agent',
    audience,
    redirectUri: typeof redirectUri === 'string' ? redirectUri : null,
  }
}

async function findInteraction(provider: AuthorizationServer, { request, reply }: HttpExchange) {
  try {
    return await provider.interactionDetails(request.raw, reply.raw)
  } catch (error) {
    const { isInteractionNotFound } = await import('./provider.ts')
    if (isInteractionNotFound(error)) return null
    throw error
  }
}
