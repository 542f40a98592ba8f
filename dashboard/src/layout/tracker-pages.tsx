import { Outlet } from '@tanstack/react-router'
import { EmptyState } from '../components/empty-state.tsx'
import { PageButton } from '../components/links.tsx'
import { useTrackers, useWorkspace } from './scope.ts'

/** The pages that show one tracker; in a workspace without any, how to get one. */
export function TrackerPages() {
  const { id } = useWorkspace()
  const { tracker } = useTrackers()
  if (tracker) return <Outlet />
  return (
    <EmptyState
      title="No tracker yet"
      action={
        <PageButton to="/w/$workspace/start" params={{ workspace: id }}>
          Create a tracker
        </PageButton>
      }
    >
      A tracker receives the events of one shop. This workspace has none.
    </EmptyState>
  )
}
