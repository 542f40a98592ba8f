import { useQuery } from '@tanstack/react-query'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { useCan, useWorkspace } from '../layout/scope.ts'
import { notificationsQuery } from '../notifications/notification-api.ts'
import { OwnTopicsSection } from '../notifications/own-topics.tsx'
import { WebhookSection } from '../notifications/webhook-section.tsx'
import { WorkspaceTopicsSection } from '../notifications/workspace-topics.tsx'

/** Emails to the person, and what the workspace sends to its people and to a webhook. */
export function NotificationsPage() {
  const { id } = useWorkspace()
  const canChange = useCan('manage_notifications')
  const state = useQuery(notificationsQuery(id))
  return (
    <Page title="Notifications" description="What Signalbox tells you and your systems.">
      {state.error && <ErrorNotice error={state.error} onRetry={() => void state.refetch()} />}
      {state.isPending && <PageSkeleton />}
      {state.data && (
        <>
          <OwnTopicsSection topics={state.data.own_topics} />
          <WorkspaceTopicsSection state={state.data} canChange={canChange} />
          {(state.data.webhook || canChange) && (
            <WebhookSection webhook={state.data.webhook} canChange={canChange} />
          )}
        </>
      )}
    </Page>
  )
}
