import { Button } from '@mantine/core'
import type { AdAccount } from '@signalbox/contract/session/users.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { AccountStatusDialog, AddAccountDialog } from '../accounts/account-dialogs.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { RowMenu } from '../components/row-menu.tsx'
import { Tag } from '../components/status-badge.tsx'
import { adAccountsQuery } from '../destinations/queries.ts'
import { useCan, useWorkspace } from '../layout/scope.ts'

/** The ad accounts of a workspace. */
export function AdAccountsPage() {
  const { id } = useWorkspace()
  const canManage = useCan('manage_ad_accounts')
  const list = useQuery(adAccountsQuery({ workspace: id }))
  const [intent, setIntent] = useState<AdAccount | 'add' | null>(null)
  const close = () => setIntent(null)
  const accounts = list.data?.ad_accounts ?? []
  return (
    <Page
      title="Ad accounts"
      description="What agents and tokens of this workspace may read and propose changes to."
      actions={canManage && <Button onClick={() => setIntent('add')}>Add an ad account</Button>}
    >
      {list.error && <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <PageSkeleton />}
      {list.data && accounts.length === 0 && (
        <EmptyState title="No ad account yet">
          Sending events needs none. An agent is bound to one when a person approves it.
        </EmptyState>
      )}
      {accounts.length > 0 && (
        <AccountTable accounts={accounts} onChange={canManage ? setIntent : null} />
      )}
      {intent === 'add' && <AddAccountDialog onClose={close} />}
      {intent !== null && intent !== 'add' && (
        <AccountStatusDialog account={intent} onClose={close} />
      )}
    </Page>
  )
}

interface AccountTableProps {
  accounts: readonly AdAccount[]
  /** Null for people who may not. */
  onChange: ((account: AdAccount) => void) | null
}

function AccountTable({ accounts, onChange }: AccountTableProps) {
  const columns: Column<AdAccount>[] = [
    { key: 'name', header: 'Name', wrap: 'free', cell: ({ name }) => name },
    {
      key: 'id',
      header: 'Meta ad account ID',
      wrap: 'whole',
      cell: row => <span className="code">{row.platform_account_id}</span>,
    },
    { key: 'currency', header: 'Currency', from: 'sm', cell: ({ currency }) => currency },
    { key: 'zone', header: 'Time zone', wrap: 'free', from: 'md', cell: row => row.time_zone },
    {
      key: 'status',
      header: 'Status',
      wrap: 'whole',
      cell: ({ status }) => (
        <Tag color={status === 'active' ? 'brand' : 'gray'}>
          {status === 'active' ? 'Active' : 'Disabled'}
        </Tag>
      ),
    },
  ]
  const actions: Column<AdAccount> = {
    key: 'actions',
    header: '',
    align: 'right',
    cell: account => {
      const isActive = account.status === 'active'
      const label = isActive ? 'Disable' : 'Enable'
      const onClick = () => onChange?.(account)
      return <RowMenu about={account.name} actions={[{ label, isDangerous: isActive, onClick }]} />
    },
  }
  return (
    <DataTable
      label="Ad accounts"
      columns={onChange ? [...columns, actions] : columns}
      rows={accounts}
      rowKey={({ id }) => String(id)}
    />
  )
}
