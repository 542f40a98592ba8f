import type { Transaction } from '../../runtime/db/database.ts'
import type { AgentPrincipal } from '../../workspaces/oauth/authenticate-agent.ts'
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

export interface ToolAnswer {
  tool: string
  answeredAt: Date
  /** Null if it was too long to keep. */
  answer: unknown
}

/**
 * Answers of one tool to one credential that evidence can refer to. A field of an older answer is
 * refused, so an agent can read a few pages and cite the first one.
 */
const ANSWERS_MAX = 10
/** Of a larger answer only the time is kept; its fields cannot be checked. */
const ANSWER_CHARACTERS_MAX = 131_072

/** Keeps an answer of a tool for the evidence of later proposals, and drops the oldest ones. */
export async function recordToolAnswer(
  { query }: Transaction,
  principal: AgentPrincipal,
  { tool, answeredAt, answer }: ToolAnswer,
): Promise<void> {
  const text = JSON.stringify(answer)
  const kept = text.length > ANSWER_CHARACTERS_MAX ? null : text
  const { kind, id } = toProposer(principal)
  const key = { principal_kind: kind, principal_id: id, tool }
  await query
    .insertInto('agent_tool_answers')
    .values({ ...key, answered_at: answeredAt, answer: kept })
    .execute()
  await query
    .deleteFrom('agent_tool_answers')
    .where('id', 'in', selection =>
      selection
        .selectFrom('agent_tool_answers')
        .select('id')
        .where('principal_kind', '=', kind)
        .where('principal_id', '=', id)
        .where('tool', '=', tool)
        .orderBy('id', 'desc')
        .offset(ANSWERS_MAX),
    )
    .execute()
}

/** The kept answers of these tools to a credential, newest first. */
export async function findToolAnswers(
  { query }: Transaction,
  principal: AgentPrincipal,
  tools: readonly string[],
): Promise<ToolAnswer[]> {
  const { kind, id } = toProposer(principal)
  const rows = await query
    .selectFrom('agent_tool_answers')
    .select(['tool', 'answered_at', 'answer'])
    .where('principal_kind', '=', kind)
    .where('principal_id', '=', id)
    .where('tool', 'in', tools)
    .orderBy('id', 'desc')
    .limit(ANSWERS_MAX * Math.max(tools.length, 1))
    .execute()
  return rows.map(({ tool, answered_at, answer }) => ({ tool, answeredAt: answered_at, answer }))
}
