import type { AdAccountChoice } from '../people/ad-account-store.ts'
import type { CurrentPerson } from '../people/current-person.ts'
import type { ApprovalRequest } from './approval-request.ts'
import type { Exchange } from './call-provider.ts'
import { type Approval, keepApproval } from './connection-store.ts'
import type { ChangeContext, OauthContext } from './oauth-context.ts'
import { digestOf } from './provider-adapter.ts'
import { RESOURCES, resourceUri } from './resources.ts'

export interface Decision {
  exchange: Exchange
  person: CurrentPerson
  approval: ApprovalRequest
  /** One that the person owns; null: they refuse. */
  adAccount: AdAccountChoice | null
}

/**
 * Carries out what a person decided, and says where the browser goes on. Approval binds client,
 * person, permissions and ad account into one connection; it is stored before the grant, so that no
 * token can ever exist without one. A page that is sent twice is one approval.
 */
export async function decideApproval(
  context: OauthContext,
  { exchange, person, approval, adAccount }: Decision,
): Promise<string> {
  const provider = context.provider()
  const { raw: request } = exchange.request
  const { raw: response } = exchange.reply
  const options = { mergeWithLastSubmission: false }
  if (!adAccount) {
    const refusal = { error: 'access_denied', error_description: 'the person refused' }
    return provider.interactionResult(request, response, refusal, options)
  }
  const accountId = String(person.userId)
  const { audience, clientId } = approval
  const grantId = digestOf(`grant of ${approval.uid}`)
  await keepWithEntry(context, {
    grantId,
    clientId,
    userId: person.userId,
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

/** A page that was sent before is written down no second time. */
async function keepWithEntry({ database, audit }: ChangeContext, approval: Approval) {
  const { workspaceId, userId, clientId, adAccountId, audience, permissions } = approval
  await database.query.transaction().execute(async query => {
    const connectionId = await keepApproval({ query }, approval)
    if (connectionId === null) return
    await audit.append(
      { query },
      {
        workspaceId,
        at: approval.approvedAt,
        actor: { type: 'person', id: String(userId) },
        action: 'connection.approved',
        subject: { type: 'connection', id: String(connectionId) },
        details: { client_id: clientId, ad_account_id: adAccountId, audience, permissions },
      },
    )
  })
}
