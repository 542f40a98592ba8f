import { commitAudited } from '../../audit/commit-audited.ts'
import type { OwnedAdAccount } from '../users/ad-account-store.ts'
import type { CurrentUser } from '../users/session-store.ts'
import { userActor } from '../users/workspaces.ts'
import type { HttpExchange } from './authorization-server.ts'
import { type Approval, saveApproval } from './connection-store.ts'
import type { ChangeContext } from './connections.ts'
import type { OauthContext } from './oauth-context.ts'
import { type Audience, findAudienceByResource, RESOURCES, resourceUri } from './permissions.ts'
import type { AuthorizationServer } from './provider.ts'
import { artifactDigest } from './provider-adapter.ts'

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
      details: { client_id: clientId, ad_account_id: adAccountId, audience, permissions },
    })
  })
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
