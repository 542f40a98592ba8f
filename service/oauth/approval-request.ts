import type { Exchange } from './call-provider.ts'
import type { OauthContext } from './oauth-context.ts'
import { isLostInteraction } from './provider.ts'
import { type Audience, audienceOf } from './resources.ts'

/** What an agent asks a person for. */
export interface ApprovalRequest {
  uid: string
  clientId: string
  /** What the client calls itself; nobody checked. */
  clientName: string
  audience: Audience
  /** Where the person is sent afterwards; null for a device. */
  redirectUri: string | null
}

/**
 * The half-finished request that this browser began, by its cookie and the uid of the page; null
 * when there is none, when it is too old, or when it was decided before.
 */
export async function approvalRequest(
  { provider, publicOrigin }: OauthContext,
  { exchange, uid }: { exchange: Exchange; uid: string },
): Promise<ApprovalRequest | null> {
  const interaction = await interactionOf(provider(), exchange)
  if (interaction?.uid !== uid || interaction.result) return null
  const { client_id: clientId, redirect_uri: redirectUri, resource } = interaction.params
  const client = await provider().Client.find(String(clientId))
  const audience = audienceOf(publicOrigin(), String([resource].flat()[0]))
  if (!client || audience === null) return null
  return {
    uid,
    clientId: client.clientId,
    clientName: client.clientName ?? 'An agent without a name',
    audience,
    redirectUri: typeof redirectUri === 'string' ? redirectUri : null,
  }
}

type Provider = ReturnType<OauthContext['provider']>

async function interactionOf(provider: Provider, { request, reply }: Exchange) {
  try {
    return await provider.interactionDetails(request.raw, reply.raw)
  } catch (error) {
    if (isLostInteraction(error)) return null
    throw error
  }
}
