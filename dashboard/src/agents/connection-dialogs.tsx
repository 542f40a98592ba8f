import { List, NativeSelect, Text, TextInput } from '@mantine/core'
import { PERMISSION_LABELS } from '@signalbox/contract/session/agent-permissions.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { fieldErrorOf } from '../api/client.ts'
import { Facts } from '../components/facts.tsx'
import { FormDialog, ResultDialog } from '../components/form-dialog.tsx'
import { Time } from '../components/time.tsx'
import { adAccountsQuery } from '../destinations/queries.ts'
import { useWorkspace } from '../layout/scope.ts'
import { type Connection, connectionsKey, revokeConnection, updateConnection } from './agent-api.ts'

export type ConnectionAction = 'details' | 'rename' | 'ad-account' | 'revoke'

interface DialogProps {
  connection: Connection
  onClose: () => void
}

/** What a connection may do, and the questions before it changes. */
export function ConnectionDialog({ action, ...props }: DialogProps & { action: ConnectionAction }) {
  switch (action) {
    case 'details':
      return <DetailsDialog {...props} />
    case 'rename':
      return <RenameDialog {...props} />
    case 'ad-account':
      return <AdAccountDialog {...props} />
    case 'revoke':
      return <RevokeDialog {...props} />
  }
}

function useConnectionChange<Input>(
  { connection, onClose }: DialogProps,
  change: (params: { workspace: string; connection: number }, input: Input) => Promise<unknown>,
) {
  const { id: workspace } = useWorkspace()
  const client = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => change({ workspace, connection: connection.id }, input),
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: connectionsKey(workspace) }),
  })
}

function DetailsDialog({ connection, onClose }: DialogProps) {
  const { last_used_at: usedAt, revoked_at: revokedAt } = connection
  return (
    <ResultDialog title={connection.name} onClose={onClose}>
      <Facts
        facts={[
          ['Name that it gave itself, not verified', connection.client_name],
          ['Opens', connection.audience === 'mcp' ? 'The MCP server' : 'The API for agents'],
          ['Ad account', connection.ad_account_name],
          ['Approved', <Time key="at" at={connection.approved_at} />],
          ['Approved by', connection.approved_by],
          ['Last used', usedAt ? <Time at={usedAt} /> : 'Never'],
          ['Revoked', revokedAt && <Time at={revokedAt} />],
        ]}
      />
      <div>
        <Text size="sm" fw={600}>
          It may
        </Text>
        <List size="sm">
          {connection.permissions.map(permission => (
            <List.Item key={permission}>{PERMISSION_LABELS[permission]}</List.Item>
          ))}
        </List>
      </div>
    </ResultDialog>
  )
}

function RenameDialog(props: DialogProps) {
  const [name, setName] = useState(props.connection.name)
  const rename = useConnectionChange(props, updateConnection)
  const nameError = fieldErrorOf(rename.error, 'name')
  return (
    <FormDialog
      title="Rename the agent"
      submitLabel="Rename"
      isPending={rename.isPending}
      error={nameError ? null : rename.error}
      onSubmit={() => rename.mutate({ name })}
      onClose={props.onClose}
    >
      <TextInput
        data-autofocus
        label="Name"
        maxLength={100}
        autoComplete="off"
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        error={nameError}
      />
    </FormDialog>
  )
}

function AdAccountDialog(props: DialogProps) {
  const { connection, onClose } = props
  const { id: workspace } = useWorkspace()
  const accounts = useQuery(adAccountsQuery({ workspace }))
  const others =
    accounts.data?.ad_accounts.filter(
      ({ id, status }) => status === 'active' && id !== connection.ad_account_id,
    ) ?? []
  const [chosen, setChosen] = useState<number | null>(null)
  const account = chosen ?? others[0]?.id
  const change = useConnectionChange(props, updateConnection)
  return (
    <FormDialog
      title={`Ad account of ${connection.name}`}
      submitLabel="Change the ad account"
      canSubmit={account !== undefined}
      isPending={change.isPending}
      error={change.error ?? accounts.error}
      onSubmit={() => account !== undefined && change.mutate({ ad_account_id: account })}
      onClose={onClose}
    >
      {accounts.data && others.length === 0 ? (
        <Text size="sm">The workspace has no other active ad account.</Text>
      ) : (
        <NativeSelect
          data-autofocus
          label="Ad account"
          value={String(account ?? '')}
          data={others.map(({ id, name }) => ({ value: String(id), label: name }))}
          onChange={({ currentTarget }) => setChosen(Number(currentTarget.value))}
        />
      )}
      <Text size="sm">
        All tokens of the agent stop working at once, until a person approves it again.
      </Text>
    </FormDialog>
  )
}

function RevokeDialog(props: DialogProps) {
  const revoke = useConnectionChange<void>(props, revokeConnection)
  return (
    <FormDialog
      isFinal
      title={`Revoke ${props.connection.name}?`}
      submitLabel="Revoke"
      isPending={revoke.isPending}
      error={revoke.error}
      onSubmit={() => revoke.mutate()}
      onClose={props.onClose}
    >
      <Text size="sm">
        The agent and all its tokens lose access at once. To use it again, a person approves it
        anew.
      </Text>
    </FormDialog>
  )
}
