import { Group, Stack, Text } from '@mantine/core'
import type {
  ApprovalQueue,
  DecidedAction,
  QueuedBatch,
} from '@signalbox/contract/agents/approvals.ts'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { decidedQuery, queueQuery } from '../approvals/approval-api.ts'
import { decisionVerb, PROPOSER_LABELS, resultText } from '../approvals/approval-texts.ts'
import { ActionStatusBadge, ChangeLine } from '../approvals/change-view.tsx'
import { ShortcutHint } from '../approvals/shortcut-hint.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { formatCount } from '../components/format-count.ts'
import { WorkspaceLink } from '../components/links.tsx'
import { ShowMore } from '../components/list-section.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Time } from '../components/time.tsx'
import { UntrustedName } from '../components/untrusted.tsx'
import { escapeInvisibleLine } from '../components/visible-text.ts'
import { useWorkspace } from '../layout/scope.ts'
import { WaitingPolicy } from '../policy/waiting-policy.tsx'

/** Proposals of agents that wait for a person, and every change that was decided. */
export function ApprovalsPage() {
  const { view } = useSearch({ from: '/w/$workspace/approvals' })
  const isDecided = view === 'decided'
  return (
    <Page
      title={isDecided ? 'Decided approvals' : 'Pending approvals'}
      description="What agents propose and the policy does not allow without a person."
    >
      <Views isDecided={isDecided} />
      {isDecided ? <Decided /> : <Pending />}
    </Page>
  )
}

function Views({ isDecided }: { isDecided: boolean }) {
  const { id: workspace } = useWorkspace()
  const current = (is: boolean) => (is ? { 'aria-current': 'page' as const, fw: 650 } : {})
  return (
    <Group component="nav" gap="md" aria-label="View">
      <WorkspaceLink workspace={workspace} path="approvals" {...current(!isDecided)}>
        Pending
      </WorkspaceLink>
      <WorkspaceLink
        workspace={workspace}
        path="approvals"
        search={{ view: 'decided' }}
        {...current(isDecided)}
      >
        Decided
      </WorkspaceLink>
    </Group>
  )
}

function Pending() {
  const { id: workspace } = useWorkspace()
  const search = useSearch({ from: '/w/$workspace/approvals' })
  const page = /^[1-9]\d{0,6}$/.test(search.page ?? '') ? Number(search.page) : 1
  const queue = useQuery(queueQuery(workspace, page))
  return (
    <>
      <WaitingPolicy />
      {queue.error && <ErrorNotice error={queue.error} onRetry={() => void queue.refetch()} />}
      {!queue.data && !queue.error && <PageSkeleton />}
      {queue.data?.batches.length === 0 && (
        <EmptyState title="No pending approvals">
          A change that an agent proposes and that needs approval stays here until a person decides
          or the approval period ends.
        </EmptyState>
      )}
      {queue.data && queue.data.batches.length > 0 && (
        <>
          <ol className="surface proposals" aria-label="Pending proposals">
            {queue.data.batches.map(batch => (
              <ProposalRow key={batch.id} batch={batch} />
            ))}
          </ol>
          <ShortcutHint acts="open" />
        </>
      )}
      {queue.data && <Pages queue={queue.data} />}
    </>
  )
}

/** Changes per proposal in the list; its page shows all. */
const CHANGES_SHOWN_MAX = 3
const RATIONALE_CHARACTERS_MAX = 200

function ProposalRow({ batch }: { batch: QueuedBatch }) {
  const { id: workspace } = useWorkspace()
  const { id, rationale, actions, stale_action_ids: stale, may_not_reason } = batch
  const pending = actions.filter(({ status }) => status === 'pending')
  const shown = pending.slice(0, CHANGES_SHOWN_MAX)
  const moreCount = actions.length - shown.length
  return (
    <li data-shortcut-item>
      <Stack gap={4} miw={0}>
        <Text fw={650} component="h2" id={`proposal-${id}`}>
          Proposal {id}: {pending.length === 1 ? 'one change' : `${pending.length} changes`}
        </Text>
        {shown.map(action => (
          <div key={action.id}>
            <ChangeLine action={action} currency={batch.currency} />
            {stale.includes(action.id) && (
              <Text size="sm" c="dimmed">
                The entity was changed elsewhere after the proposal.
              </Text>
            )}
          </div>
        ))}
        {moreCount > 0 && <Text size="sm">And {moreCount} more in the same proposal.</Text>}
        <Text size="sm" dir="auto" className="anywhere">
          {escapeInvisibleLine(rationale, RATIONALE_CHARACTERS_MAX)}
        </Text>
        <ProposalFacts batch={batch} />
        {may_not_reason !== null && (
          <Text size="sm" c="dimmed">
            {may_not_reason}
          </Text>
        )}
      </Stack>
      <WorkspaceLink
        workspace={workspace}
        path={`approvals/${id}`}
        className="review"
        aria-describedby={`proposal-${id}`}
        data-shortcut-target
      >
        {batch.may_decide ? 'Review and decide' : 'Review'}
      </WorkspaceLink>
    </li>
  )
}

function ProposalFacts({ batch }: { batch: QueuedBatch }) {
  const { proposed_by, responsible, ad_account_name, expires_at } = batch
  const { type, id, name = `ID ${id}` } = proposed_by
  const hasExpired = new Date(expires_at) <= new Date()
  return (
    <Text size="sm" c="dimmed">
      {type === 'person' ? (
        <UntrustedName name={responsible} />
      ) : (
        <>
          <UntrustedName name={name} /> ({PROPOSER_LABELS[type]} of{' '}
          <UntrustedName name={responsible} />)
        </>
      )}
      {' · '}
      <UntrustedName name={ad_account_name} />
      {' · '}
      {hasExpired ? 'Expired' : 'Decide by'} <Time at={expires_at} isPlanned={!hasExpired} />
    </Text>
  )
}

function Pages({ queue: { page, has_more } }: { queue: ApprovalQueue }) {
  const { id: workspace } = useWorkspace()
  if (page === 1 && !has_more) return null
  return (
    <Group component="nav" aria-label="Pages" gap="md">
      {page > 1 && (
        <WorkspaceLink workspace={workspace} path="approvals" search={{ page: `${page - 1}` }}>
          Previous
        </WorkspaceLink>
      )}
      {has_more && (
        <WorkspaceLink workspace={workspace} path="approvals" search={{ page: `${page + 1}` }}>
          Next
        </WorkspaceLink>
      )}
    </Group>
  )
}

function Decided() {
  const { id: workspace } = useWorkspace()
  const decided = useInfiniteQuery(decidedQuery(workspace))
  const rows = decided.data?.pages.flatMap(({ actions }) => actions) ?? []
  if (decided.error) {
    return <ErrorNotice error={decided.error} onRetry={() => void decided.refetch()} />
  }
  if (!decided.data) return <PageSkeleton />
  if (rows.length === 0) {
    return (
      <EmptyState title="No decided changes">
        Changes that a person, the policy or time decided are here with their outcome.
      </EmptyState>
    )
  }
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {formatCount(rows.length, 'change')}, the newest first.
      </Text>
      <DataTable
        label="Decided changes"
        columns={columnsOf(workspace)}
        rows={rows}
        rowKey={({ action }) => String(action.id)}
      />
      <ShowMore list={decided} label="Show older changes" />
    </Stack>
  )
}

function columnsOf(workspace: string): Column<DecidedAction>[] {
  return [
    {
      key: 'change',
      header: 'Change',
      cell: ({ action, currency }) => (
        <WorkspaceLink workspace={workspace} path={`approvals/${action.batch_id}`}>
          <ChangeLine action={action} currency={currency} />
        </WorkspaceLink>
      ),
    },
    {
      key: 'status',
      header: 'Outcome',
      wrap: 'whole',
      cell: ({ action }) => <ActionStatusBadge status={action.status} />,
    },
    {
      key: 'by',
      header: 'Decided',
      cell: ({ action, decided_by }) => (
        <>
          {decisionVerb(action)}
          {decided_by !== null && (
            <>
              {' by '}
              <UntrustedName name={decided_by} />
            </>
          )}
          , <Time at={action.decided_at ?? action.created_at} format="absolute" />
        </>
      ),
    },
    { key: 'result', header: 'Result', from: 'lg', cell: ({ action }) => resultText(action) },
  ]
}
