import { ACCOUNT_TOOLS } from './account-tools.ts'
import { ACTION_TOOLS } from './action-tools.ts'
import type { AgentTool } from './agent-tool.ts'
import { PROPOSAL_TOOLS } from './proposal-tools.ts'

/** Every tool, in the order in which an agent meets them (decisions, section 10). */
export const AGENT_TOOLS: readonly AgentTool[] = [
  ...ACCOUNT_TOOLS,
  ...PROPOSAL_TOOLS,
  ...ACTION_TOOLS,
]
