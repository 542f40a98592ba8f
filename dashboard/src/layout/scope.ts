import { hasPermission, type WorkspaceAction } from '@signalbox/contract/session/roles.ts'
import { useSuspenseQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { trackersQuery, workspacesQuery } from '../api/queries.ts'

/** The workspace of this page, with the role of the signed-in person in it. */
export function useWorkspace() {
  const { workspace: id } = useParams({ from: '/w/$workspace' })
  const { data } = useSuspenseQuery(workspacesQuery)
  const found = data.workspaces.find(workspace => String(workspace.id) === id)
  return {
    id,
    name: found?.name ?? 'Workspace',
    role: found?.role ?? 'viewer',
    requiresSecondFactor: found?.requires_second_factor ?? false,
  }
}

/** Whether the role of the person allows something. The service enforces it. */
export function useCan(action: WorkspaceAction): boolean {
  return hasPermission(useWorkspace().role, action)
}

/** Whether the person may change trackers, destinations and keys, replay and erase. */
export function useCanManage(): boolean {
  return useCan('manage_trackers')
}

/** The trackers of the workspace, and the one that the pages show; null when there is none. */
export function useTrackers() {
  const { id } = useWorkspace()
  const { tracker: chosen } = useSearch({ from: '/w/$workspace' })
  const { data } = useSuspenseQuery(trackersQuery(id))
  const { trackers } = data
  return { trackers, tracker: trackers.find(each => each.id === chosen) ?? trackers[0] ?? null }
}

/** Path parameters of the tracker that the page shows. Only below `TrackerPages`. */
export function useTrackerParams() {
  const { id } = useWorkspace()
  const { tracker } = useTrackers()
  if (!tracker) throw new Error('the workspace has no tracker')
  return { workspace: id, tracker: tracker.id }
}
