import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ConfirmableError } from '../components/confirm-identity.tsx'
import {
  type DestinationPlatform,
  type DestinationStatus,
  destinationsKey,
  type TrackerParams,
} from './queries.ts'
import { isShownByFields, TargetFields, TokenInput } from './target-fields.tsx'

interface CredentialDialogProps {
  params: TrackerParams
  status: DestinationStatus
  platform: DestinationPlatform | undefined
  onClose: () => void
}

/** Replaces the access token of a destination, and the target if it changes as well. */
export function CredentialDialog({ params, status, platform, onClose }: CredentialDialogProps) {
  const client = useQueryClient()
  const { id, config: stored } = status.destination
  const fields = platform?.fields ?? []
  const [token, setToken] = useState('')
  const [config, setConfig] = useState(() =>
    Object.fromEntries(fields.map(({ name }) => [name, String(stored?.[name] ?? '')])),
  )
  const replace = useMutation({
    mutationFn: () =>
      call('PUT /workspaces/:workspace/trackers/:tracker/destinations/:destination/credential', {
        params: { ...params, destination: id },
        body: { access_token: token, config },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: destinationsKey(params) })
      onClose()
    },
  })
  const { error, isPending } = replace
  const shown = [...fields.map(({ name }) => `config.${name}`), 'access_token']
  return (
    <Modal opened onClose={onClose} title="Replace the credential" centered>
      <form
        onSubmit={event => {
          event.preventDefault()
          replace.mutate()
        }}
      >
        <Stack gap="md">
          <Text size="sm">
            The new token is used from the next request on. Events that wait are sent at once.
          </Text>
          <TokenInput value={token} onChange={setToken} error={error} />
          <TargetFields fields={fields} values={config} onChange={setConfig} error={error} />
          {error && !isShownByFields(error, shown) && <ConfirmableError error={error} />}
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isPending}>
              Replace
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
