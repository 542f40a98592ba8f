import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type ExecutionToken, tokensQuery } from '../agents/agent-api.ts'
import { IssueTokenDialog, RevokeTokenDialog } from '../agents/token-dialogs.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { PageButton } from '../components/links.tsx'
import { ListSection } from '../components/list-section.tsx'
import { Page } from '../components/page.tsx'
import { RowMenu } from '../components/row-menu.tsx'
import { Tag } from '../components/status-badge.tsx'
import { Time } from '../components/time.tsx'
import { adAccountsQuery } from '../destinations/queries.ts'
import { useWorkspace } from '../layout/scope.ts'

type Intent = { action: 'issue' } | { action: 'revoke'; token: ExecutionToken }

/** The execution tokens of a workspace, for its owners. A token is shown once. */
export function TokensPage() {
  const { id } = useWorkspace()
  const list = useInfiniteQuery(tokensQuery(id))
  const all = useQuery(adAccountsQuery({ workspace: id }))
  const [intent, setIntent] = useState<Intent | null>(null)
  const tokens = list.data?.pages.flatMap(page => page.tokens) ?? []
  const accounts = all.data?.ad_accounts.filter(({ status }) => status === 'active') ?? []
  const canIssue = accounts.length > 0
  const close = () => setIntent(null)
  return (
    <Page
      title="Tokens"
      description="For programs that act as agents. Each is for one ad account and is shown once."
      actions={
        canIssue && <Button onClick={() => setIntent({ action: 'issue' })}>Issue a token</Button>
      }
    >
      {all.error && <ErrorNotice error={all.error} onRetry={() => void all.refetch()} />}
      <ListSection title="Execution tokens" list={list}>
        {tokens.length === 0 ? (
          <NoTokens hasAccount={canIssue || !all.data} workspace={id} />
        ) : (
          <TokenTable tokens={tokens} onRevoke={token => setIntent({ action: 'revoke', token })} />
        )}
      </ListSection>
      {intent?.action === 'issue' && <IssueTokenDialog accounts={accounts} onClose={close} />}
      {intent?.action === 'revoke' && <RevokeTokenDialog token={intent.token} onClose={close} />}
    </Page>
  )
}

function NoTokens({ hasAccount, workspace }: { hasAccount: boolean; workspace: string }) {
  if (hasAccount) {
    return (
      <EmptyState title="No token yet">
        A program sends its token as the bearer token of each request to the MCP server or to the
        operations for agents.
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title="A token needs an active ad account"
      action={
        <PageButton to="/w/$workspace/ad-accounts" params={{ workspace }}>
          Open the ad accounts
        </PageButton>
      }
    >
      Each token is for one ad account of the workspace. Add one, or enable one, first.
    </EmptyState>
  )
}

interface TokenTableProps {
  tokens: readonly ExecutionToken[]
  onRevoke: (token: ExecutionToken) => void
}

function TokenTable({ tokens, onRevoke }: TokenTableProps) {
  const columns: Column<ExecutionToken>[] = [
    {
      key: 'name',
      header: 'Name',
      wrap: 'free',
      cell: ({ name, last_characters: characters }) => (
        <>
          {name} <span className="code quiet nowrap">…{characters}</span>
        </>
      ),
    },
    { key: 'status', header: 'Status', wrap: 'whole', cell: row => <TokenTag {...row} /> },
    {
      key: 'expires',
      header: 'Expires',
      wrap: 'whole',
      from: 'sm',
      cell: ({ status, expires_at: at }) => (
        <Time at={at} format="relative" isPlanned={status === 'active'} />
      ),
    },
    { key: 'tier', header: 'Tier', from: 'sm', cell: ({ tier }) => TIER_NAMES[tier] },
    {
      key: 'account',
      header: 'Ad account',
      wrap: 'free',
      from: 'md',
      cell: row => row.ad_account_name,
    },
    { key: 'issuer', header: 'Issued by', wrap: 'free', from: 'lg', cell: row => row.issued_by },
    {
      key: 'used',
      header: 'Last used',
      wrap: 'whole',
      from: 'sm',
      cell: ({ last_used_at: at }) => (at ? <Time at={at} format="relative" /> : 'Never'),
    },
    {
      key: 'actions',
      header: '',
      align: 'right',
      cell: token => (
        <RowMenu
          about={token.name}
          actions={
            token.status === 'active'
              ? [{ label: 'Revoke', isDangerous: true, onClick: () => onRevoke(token) }]
              : []
          }
        />
      ),
    },
  ]
  return (
    <DataTable label="Tokens" columns={columns} rows={tokens} rowKey={({ id }) => String(id)} />
  )
}

const TIER_NAMES: Record<ExecutionToken['tier'], string> = {
  read: 'Read',
  write: 'Write',
  admin: 'Admin',
}

function TokenTag({ status }: Pick<ExecutionToken, 'status'>) {
  if (status === 'active') return <Tag>Active</Tag>
  return <Tag color="gray">{status === 'expired' ? 'Expired' : 'Revoked'}</Tag>
}
