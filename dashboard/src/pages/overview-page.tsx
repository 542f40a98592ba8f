import { List } from '@mantine/core'
import { EmptyState } from '../components/empty-state.tsx'
import { PageLink } from '../components/links.tsx'
import { Page } from '../components/page.tsx'
import { useTrackers, useWorkspace } from '../layout/scope.ts'

/** The trackers of a workspace. */
export function OverviewPage() {
  const { id, name } = useWorkspace()
  const { trackers } = useTrackers()
  return (
    <Page title="Overview" description={name}>
      {trackers.length === 0 ? (
        <EmptyState title="No tracker yet" command="npm run provision -- --workspace NAME">
          A tracker receives the events of one shop.
        </EmptyState>
      ) : (
        <List>
          {trackers.map(tracker => (
            <List.Item key={tracker.id}>
              <PageLink
                to="/w/$workspace"
                params={{ workspace: id }}
                search={{ tracker: tracker.id }}
              >
                {tracker.name}
              </PageLink>
            </List.Item>
          ))}
        </List>
      )}
    </Page>
  )
}
