import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, isShownByFields } from '../api/client.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import {
  type DestinationPlatform,
  type DestinationStatus,
  destinationsKey,
  type TrackerParams,
} from './queries.ts'
import { CredentialInput, TargetFields } from './target-fields.tsx'

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
    <FormDialog
      title="Replace the credential"
      submitLabel="Replace"
      isPending={isPending}
      error={isShownByFields(error, shown) ? null : error}
      onSubmit={() => replace.mutate()}
      onClose={onClose}
    >
      <Text size="sm">The next request uses the new token. Waiting events are sent at once.</Text>
      <CredentialInput
        forms={platform?.credentials ?? []}
        value={token}
        onChange={setToken}
        error={error}
      />
      <TargetFields fields={fields} values={config} onChange={setConfig} error={error} />
    </FormDialog>
  )
}
