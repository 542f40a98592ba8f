import { Radio, Stack, Switch, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { trackersQuery } from '../api/queries.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { useTrackers } from '../layout/scope.ts'

const ON =
  'Platforms count a page, their own pixel and the back end with the same event ID once. This ' +
  'trusts your pages: anyone who copies their key can send an ID before the back end does, and ' +
  "the platform then drops the back end's event."
const OFF =
  'Where the back end sends an event name too, events of pages get the prefix p. before their ' +
  'ID, so that a forged one never takes the place of a real one. A pixel on the page with the ' +
  'plain ID is then counted beside the event of the page, if the back end does not report it.'

interface ChoiceProps {
  value: boolean | null
  onChange: (value: boolean) => void
  error: string | undefined
}

/** Asks for the setting of a new tracker, with what each answer means. */
export function PageIdSharingChoice({ value, onChange, error }: ChoiceProps) {
  return (
    <Radio.Group
      label="Do pages share event IDs with the back end?"
      value={value === null ? '' : value ? 'on' : 'off'}
      onChange={chosen => onChange(chosen === 'on')}
      error={error}
      required
    >
      <Stack gap="xs" mt="xs">
        <Radio value="off" label="No, they are kept apart" description={OFF} />
        <Radio value="on" label="Yes, the same ID is the same event" description={ON} />
      </Stack>
    </Radio.Group>
  )
}

interface SectionProps {
  params: { workspace: string; tracker: string }
  canManage: boolean
}

/** The switch of a tracker, with what it trusts. */
export function PageIdSharingSection({ params, canManage }: SectionProps) {
  const client = useQueryClient()
  const { tracker } = useTrackers()
  const change = useMutation({
    mutationFn: (share_page_ids: boolean) =>
      call('PATCH /workspaces/:workspace/trackers/:tracker', { params, body: { share_page_ids } }),
    onSuccess: () =>
      client.invalidateQueries({ queryKey: trackersQuery(params.workspace).queryKey }),
  })
  const isShared = tracker?.share_page_ids === true
  return (
    <Stack component="section" gap="xs" aria-labelledby="page-id-sharing">
      <Title order={2} size="h4" id="page-id-sharing">
        Event IDs of pages
      </Title>
      <Switch
        label="Pages share event IDs with the back end"
        checked={isShared}
        disabled={!canManage || change.isPending}
        onChange={({ currentTarget }) => change.mutate(currentTarget.checked)}
      />
      <Text maw="46rem" c="dimmed" size="sm">
        {isShared ? `On: ${ON}` : `Off: ${OFF}`}
      </Text>
      {change.error && <ErrorNotice error={change.error} />}
    </Stack>
  )
}
