import type { AgentPrincipal } from '../../oauth/verify-agent-token.ts'
import type { ActionProposer } from './action.ts'

/** Who proposes when this credential does, by the name that it has at this moment. */
export function proposerOf(principal: AgentPrincipal): ActionProposer {
  const { kind, personId } = principal
  return kind === 'connection'
    ? { kind, id: principal.connectionId, name: principal.connectionName, personId }
    : { kind, id: principal.tokenId, name: principal.tokenName, personId }
}
