import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import { findActorNames } from '../../audit/actor-name-store.ts'
import type { Database } from '../../runtime/db/database.ts'
import { parseRowId } from '../../runtime/util/row-id.ts'
import { userActor } from '../../workspaces/users/workspaces.ts'
import { toActionView } from '../proposals/action-view.ts'
import { findDecidedActions } from '../proposals/decided-action-store.ts'

export const DECIDED_PER_PAGE = 30

/** An action with its outcome, and who decided on it. */
export interface DecidedAction {
  action: AgentAction
  /** ISO 4217, of its ad account. */
  currency: string
  /** Email of the user who decided; null if none did, or for a deleted user. */
  decidedBy: string | null
}

export interface DecidedPage {
  actions: DecidedAction[]
  /** `before` of the older page; null on the last one. */
  nextBefore: number | null
}

/**
 * Reads the actions of a workspace that wait for no decision, newest first. The caller has checked
 * that the user may read the workspace. An invalid `before` shows the first page.
 */
export async function readDecidedActions(
  database: Database,
  workspaceId: number,
  before: unknown,
): Promise<DecidedPage> {
  const found = await findDecidedActions(database, {
    workspaceId,
    before: parseRowId(before),
    // One extra row reveals whether there is another page.
    limit: DECIDED_PER_PAGE + 1,
  })
  const page = found.slice(0, DECIDED_PER_PAGE)
  const people = page.flatMap(({ action: { decidedBy } }) =>
    decidedBy === null ? [] : [userActor({ userId: decidedBy })],
  )
  const names = await findActorNames(database, workspaceId, people)
  return {
    actions: page.map(({ action, currency }) => ({
      action: toActionView(action),
      currency,
      decidedBy: names.get(`person ${action.decidedBy}`) ?? null,
    })),
    nextBefore: found.length > page.length ? (page.at(-1)?.action.id ?? null) : null,
  }
}
