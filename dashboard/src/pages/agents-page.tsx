import { Anchor } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Connection, connectionsQuery } from '../agents/agent-api.ts'
import { type ConnectionAction, ConnectionDialog } from '../agents/connection-dialogs.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ListSection } from '../components/list-section.tsx'
import { Page } from '../components/page.tsx'
import { RowMenu } from '../components/row-menu.tsx'
import { Tag } from '../components/status-badge.tsx'
import { Time } from '../components/time.tsx'
import { useWorkspace } from '../layout/scope.ts'

interface Intent {
  action: ConnectionAction
  connection: Connection
}

/** The agents that people of the workspace approved, for its owners. */
export function AgentsPage() {
  const { id } = useWorkspace()
  const list = useInfiniteQuery(connectionsQuery(id))
  const [intent, setIntent] = useState<Intent | null>(null)
  const connections = list.data?.pages.flatMap(page => page.connections) ?? []
  return (
    <Page
      title="Agents"
      description="Each reads one ad account and proposes changes, on which the policy decides."
    >
      <ListSection title="Connections" list={list}>
        {connections.length === 0 ? (
          <NoAgents />
        ) : (
          <ConnectionTable
            connections={connections}
            onIntent={(action, connection) => setIntent({ action, connection })}
          />
        )}
      </ListSection>
      {intent && <ConnectionDialog {...intent} onClose={() => setIntent(null)} />}
    </Page>
  )
}

function NoAgents() {
  return (
    <EmptyState
      title="No agent is connected"
      command={`claude mcp add --transport http signalbox ${location.origin}/mcp`}
    >
      Add the MCP server to an agent, for example to Claude Code. It opens a page where you choose
      the ad account and approve it (
      <Anchor href="/docs/operations/agents" underline="always">
        how agents connect
      </Anchor>
      ).
    </EmptyState>
  )
}

interface ConnectionTableProps {
  connections: readonly Connection[]
  onIntent: (action: ConnectionAction, connection: Connection) => void
}

function ConnectionTable({ connections, onIntent }: ConnectionTableProps) {
  const columns: Column<Connection>[] = [
    { key: 'name', header: 'Agent', wrap: 'free', cell: ({ name }) => name },
    { key: 'status', header: 'Status', wrap: 'whole', cell: row => <ConnectionTag {...row} /> },
    {
      key: 'account',
      header: 'Ad account',
      wrap: 'free',
      from: 'sm',
      cell: row => row.ad_account_name,
    },
    {
      key: 'approver',
      header: 'Approved by',
      wrap: 'free',
      from: 'lg',
      cell: row => row.approved_by,
    },
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
      cell: connection => {
        const open = (action: ConnectionAction) => () => onIntent(action, connection)
        const details = { label: 'Details', onClick: open('details') }
        return (
          <RowMenu
            about={connection.name}
            actions={
              connection.revoked_at === null
                ? [
                    details,
                    { label: 'Rename', onClick: open('rename') },
                    { label: 'Change the ad account', onClick: open('ad-account') },
                    { label: 'Revoke', isDangerous: true, onClick: open('revoke') },
                  ]
                : [details]
            }
          />
        )
      },
    },
  ]
  return (
    <DataTable
      label="Connections"
      columns={columns}
      rows={connections}
      rowKey={({ id }) => String(id)}
    />
  )
}

function ConnectionTag({ revoked_at: revokedAt, needs_approval: needsApproval }: Connection) {
  if (revokedAt !== null) return <Tag color="gray">Revoked</Tag>
  if (needsApproval) return <Tag color="yellow">Must be approved again</Tag>
  return <Tag>Connected</Tag>
}
