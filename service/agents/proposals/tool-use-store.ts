import type { Transaction } from '../../db/database.ts'
import type { AgentPrincipal } from '../../oauth/authenticate-agent.ts'
import { toProposer } from './action.ts'

/** Records when a credential last used a tool; never replaces a later time with an earlier one. */
export async function recordToolUse(
  { query }: Transaction,
  principal: AgentPrincipal,
  tool: string,
  at: Date,
): Promise<void> {
  const { kind, id } = toProposer(principal)
  await query
    .insertInto('agent_tool_uses')
    .values({ principal_kind: kind, principal_id: id, tool, used_at: at })
    .onConflict(conflict =>
      conflict
        .columns(['principal_kind', 'principal_id', 'tool'])
        .doUpdateSet(({ ref }) => ({ used_at: ref('excluded.used_at') }))
        .whereRef('agent_tool_uses.used_at', '<', 'excluded.used_at'),
    )
    .execute()
}

/** The tools that a credential used since a given time, with the time of the last use. */
export async function findToolUses(
  { query }: Transaction,
  principal: AgentPrincipal,
  since: Date,
): Promise<Map<string, Date>> {
  const { kind, id } = toProposer(principal)
  const rows = await query
    .selectFrom('agent_tool_uses')
    .select(['tool', 'used_at'])
    .where('principal_kind', '=', kind)
    .where('principal_id', '=', id)
    .where('used_at', '>=', since)
    .execute()
  return new Map(rows.map(({ tool, used_at }) => [tool, used_at]))
}
