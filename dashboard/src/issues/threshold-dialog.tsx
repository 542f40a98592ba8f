import { NumberInput, Text } from '@mantine/core'
import type { AlertThresholds } from '@signalbox/contract/session/issues.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, fieldErrorOf } from '../api/client.ts'
import { FormDialog } from '../components/form-dialog.tsx'

interface ThresholdDialogProps {
  workspace: string
  onClose: () => void
}

/** From when on people are alerted: one setting for the workspace. */
export function ThresholdDialog({ workspace, onClose }: ThresholdDialogProps) {
  const client = useQueryClient()
  const queryKey = ['alert-thresholds', workspace]
  const params = { workspace }
  const { data, error } = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/alert-thresholds', { params, signal }),
  })
  const [changes, setChanges] = useState<Partial<AlertThresholds>>({})
  const saving = useMutation({
    mutationFn: (body: AlertThresholds) =>
      call('PUT /workspaces/:workspace/alert-thresholds', { params, body }),
    onSuccess(saved) {
      client.setQueryData(queryKey, saved)
      onClose()
    },
  })
  const values = data && { ...data, ...changes }
  return (
    <FormDialog
      title="When to alert"
      submitLabel="Save"
      isPending={saving.isPending}
      canSubmit={values !== undefined}
      error={saving.error ?? error ?? null}
      onSubmit={() => values && saving.mutate(values)}
      onClose={onClose}
    >
      <Text size="sm">
        For every tracker of the workspace. Members who manage deliveries get the alerts.
      </Text>
      {values &&
        FIELDS.map(({ name, label, ...range }) => (
          <NumberInput
            key={name}
            label={label}
            {...range}
            required
            value={values[name]}
            error={fieldErrorOf(saving.error, name)}
            onChange={value => setChanges({ ...changes, [name]: Number(value) })}
          />
        ))}
    </FormDialog>
  )
}

const FIELDS = [
  { name: 'score_min', label: 'Match quality below', min: 0, max: 10, step: 0.5 },
  {
    name: 'score_fall',
    label: 'Match quality falls within a week by',
    min: 0.1,
    max: 10,
    step: 0.1,
  },
  { name: 'unexplained_events', label: 'Unexplained events of a day', min: 1 },
  {
    name: 'unexplained_percent',
    label: 'and as percent of the accepted events',
    min: 0,
    max: 100,
    suffix: ' %',
  },
  {
    name: 'unreachable_minutes',
    label: 'Minutes for which a destination cannot be reached',
    min: 1,
    max: 1_440,
  },
] as const
