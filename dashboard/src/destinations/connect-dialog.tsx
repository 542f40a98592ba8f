import { NativeSelect } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, fieldErrorOf, isShownByFields } from '../api/client.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import {
  adAccountsQuery,
  type DestinationPlatform,
  destinationsKey,
  type TrackerParams,
} from './queries.ts'
import { CredentialInput, TargetFields } from './target-fields.tsx'

interface ConnectDialogProps {
  params: TrackerParams
  platforms: readonly DestinationPlatform[]
  onClose: () => void
}

/** Asks where events are sent, and with which token. */
export function ConnectDialog({ params, platforms, onClose }: ConnectDialogProps) {
  const client = useQueryClient()
  const { data: accounts } = useQuery(adAccountsQuery(params))
  const [type, setType] = useState(platforms[0]?.type ?? '')
  const [config, setConfig] = useState<Record<string, string>>({})
  const [token, setToken] = useState('')
  const [account, setAccount] = useState('')
  const { fields = [], credentials = [] } = platforms.find(platform => platform.type === type) ?? {}
  const connect = useMutation({
    mutationFn: () =>
      call('POST /workspaces/:workspace/trackers/:tracker/destinations', {
        params,
        body: {
          type,
          config,
          access_token: token,
          ad_account_id: account === '' ? null : Number(account),
        },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: destinationsKey(params) })
      onClose()
    },
  })
  const { error, isPending } = connect
  const shown = [...fields.map(({ name }) => `config.${name}`), 'access_token', 'ad_account_id']
  const active = accounts?.ad_accounts.filter(({ status }) => status === 'active') ?? []
  return (
    <FormDialog
      title="Connect a destination"
      submitLabel="Connect"
      isPending={isPending}
      error={isShownByFields(error, shown) ? null : error}
      onSubmit={() => connect.mutate()}
      onClose={onClose}
    >
      {platforms.length > 1 && (
        <NativeSelect
          label="Platform"
          value={type}
          data={platforms.map(platform => ({ value: platform.type, label: platform.label }))}
          onChange={({ currentTarget }) => {
            setType(currentTarget.value)
            setConfig({})
            setToken('')
          }}
        />
      )}
      <TargetFields fields={fields} values={config} onChange={setConfig} error={error} />
      <CredentialInput
        key={type}
        forms={credentials}
        value={token}
        onChange={setToken}
        error={error}
      />
      {active.length > 0 && (
        <NativeSelect
          label="Ad account"
          description="Agents that are bound to it see the health of this destination."
          value={account}
          data={[
            { value: '', label: 'None' },
            ...active.map(({ id, name }) => ({ value: String(id), label: name })),
          ]}
          onChange={({ currentTarget }) => setAccount(currentTarget.value)}
          error={fieldErrorOf(error, 'ad_account_id')}
        />
      )}
    </FormDialog>
  )
}
