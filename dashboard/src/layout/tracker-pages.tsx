import { Outlet } from '@tanstack/react-router'
import { EmptyState } from '../components/empty-state.tsx'
import { useTrackers, useWorkspace } from './scope.ts'

/** The pages that show one tracker; in a workspace without any, how to get one. */
export function TrackerPages() {
  const { name } = useWorkspace()
  const { tracker } = useTrackers()
  if (tracker) return <Outlet />
  return (
    <EmptyState title="No tracker yet" command={`npm run provision -- --workspace "${name}"`}>
      A tracker receives the events of one shop. This workspace has none.
    </EmptyState>
  )
}
