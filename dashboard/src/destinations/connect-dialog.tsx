import { Button, Group, Modal, NativeSelect, Stack } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ConfirmableError } from '../components/confirm-identity.tsx'
import {
  adAccountsQuery,
  type DestinationPlatform,
  destinationsKey,
  type TrackerParams,
} from './queries.ts'
import { fieldErrorOf, isShownByFields, TargetFields, TokenInput } from './target-fields.tsx'

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
  const fields = platforms.find(platform => platform.type === type)?.fields ?? []
  const connect = useMutation({
    mutationFn: () =>
      call('POST /workspaces/:workspace/trackers/:tracker/destinations', {
        params,
        body: {
          ...{ type, config, access_token: token },
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
    <Modal opened onClose={onClose} title="Connect a destination" centered>
      <form
        onSubmit={event => {
          event.preventDefault()
          connect.mutate()
        }}
      >
        <Stack gap="md">
          {platforms.length > 1 && (
            <NativeSelect
              label="Platform"
              value={type}
              data={platforms.map(platform => ({ value: platform.type, label: platform.label }))}
              onChange={({ currentTarget }) => {
                setType(currentTarget.value)
                setConfig({})
              }}
            />
          )}
          <TargetFields fields={fields} values={config} onChange={setConfig} error={error} />
          <TokenInput value={token} onChange={setToken} error={error} />
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
          {error && !isShownByFields(error, shown) && <ConfirmableError error={error} />}
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isPending}>
              Connect
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
