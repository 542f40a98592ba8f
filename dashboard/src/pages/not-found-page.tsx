import { EmptyState } from '../components/empty-state.tsx'
import { PageButton } from '../components/links.tsx'
import { Page } from '../components/page.tsx'
import { useWorkspace } from '../layout/scope.ts'

/** An address below the workspace that no page has. */
export function NotFoundPage() {
  const { id } = useWorkspace()
  return (
    <Page title="Page not found">
      <EmptyState
        title="There is no page at this address"
        action={
          <PageButton to="/w/$workspace" params={{ workspace: String(id) }} variant="default">
            Open the overview
          </PageButton>
        }
      >
        The link may be incomplete. To find an event by its ID, use the search.
      </EmptyState>
    </Page>
  )
}
