import { Alert, Button, Group, List, Modal, Progress, Stack, Text } from '@mantine/core'
import type {
  ReplayOutcome,
  ReplayPreview,
  ReplaySelection,
} from '@signalbox/contract/session/replays.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { useTrackerParams } from '../layout/scope.ts'
import { ErrorNotice } from './error-notice.tsx'
import { DIALOG } from './form-dialog.tsx'

interface ReplayButtonProps {
  /** The failed deliveries that would be sent again. Null hides the button, not an open dialog. */
  selection: ReplaySelection | null
  label: string
}

/** Sends failed deliveries again: first what would happen, then the replay and its progress. */
export function ReplayButton({ selection, label }: ReplayButtonProps) {
  const queries = useQueryClient()
  const [opened, setOpened] = useState<ReplaySelection | null>(null)
  const close = () => {
    setOpened(null)
    void queries.invalidateQueries({ predicate: isAboutEvents })
  }
  return (
    <>
      {selection && (
        <Button variant="default" size="compact-sm" onClick={() => setOpened(selection)}>
          {label}
        </Button>
      )}
      <Modal {...DIALOG} opened={opened !== null} onClose={close} title="Replay failed deliveries">
        {opened && <ReplaySteps selection={opened} onClose={close} />}
      </Modal>
    </>
  )
}

const isAboutEvents = ({ queryKey }: { queryKey: readonly unknown[] }) =>
  queryKey[0] === 'events' || queryKey[0] === 'event'

function ReplaySteps({ selection, onClose }: { selection: ReplaySelection; onClose: () => void }) {
  const params = useTrackerParams()
  const preview = useQuery({
    queryKey: ['replay-preview', params, selection],
    queryFn: ({ signal }) =>
      call('POST /workspaces/:workspace/trackers/:tracker/replays/preview', {
        params,
        body: selection,
        signal,
      }),
    gcTime: 0,
    staleTime: 0,
  })
  const replay = useMutation({
    mutationFn: () =>
      call('POST /workspaces/:workspace/trackers/:tracker/replays', { params, body: selection }),
  })
  if (replay.data) return <ReplayReport outcome={replay.data} onClose={onClose} />
  if (preview.error) {
    return <ErrorNotice error={preview.error} onRetry={() => void preview.refetch()} />
  }
  if (!preview.data) return <Text>Counting…</Text>
  const { queued } = preview.data
  return (
    <Stack gap="md">
      <Text>{queued === 0 ? 'Nothing would be sent again.' : 'If you replay now:'}</Text>
      <Counts counts={preview.data} />
      {replay.error && <ErrorNotice error={replay.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          onClick={() => replay.mutate()}
          loading={replay.isPending}
          disabled={queued === 0}
          data-autofocus
        >
          {queued === 1 ? 'Replay 1 delivery' : `Replay ${queued} deliveries`}
        </Button>
      </Group>
    </Stack>
  )
}

/** The same words for the preview and for the result. */
function Counts({ counts }: { counts: ReplayPreview }) {
  const { queued, expired, payload_expired, may_count_twice, unknown_outcome, capped } = counts
  return (
    <>
      <List>
        <List.Item>{queued} queued to be sent again</List.Item>
        <List.Item>{expired} left out: too old for the platform</List.Item>
        <List.Item>{payload_expired} left out: the identity payload was deleted</List.Item>
      </List>
      {may_count_twice > 0 && (
        <Alert variant="light" color="yellow" title={`${may_count_twice} may count twice`}>
          They were first sent more than 48 hours ago. If the platform received them then, it no
          longer recognizes their ID.
        </Alert>
      )}
      {unknown_outcome > 0 && (
        <Alert variant="light" color="yellow" title={`${unknown_outcome} may have arrived already`}>
          An attempt ended without a known answer. Within 48 hours the platform ignores a repeat of
          their ID.
        </Alert>
      )}
      {capped && <Text size="sm">More deliveries match. Replay again for the rest.</Text>}
    </>
  )
}

const POLL_MILLISECONDS = 2_000

/** The result, and how much of it still waits. */
function ReplayReport({ outcome, onClose }: { outcome: ReplayOutcome; onClose: () => void }) {
  const params = useTrackerParams()
  const progress = useQuery({
    queryKey: ['replay', params, outcome.replayed_at],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/replays/:replay', {
        params: { ...params, replay: outcome.replayed_at },
        signal,
      }),
    enabled: outcome.queued > 0,
    refetchInterval: ({ state }) => (state.data?.waiting === 0 ? false : POLL_MILLISECONDS),
  })
  const { waiting, failed, is_exact } = progress.data ?? {
    waiting: outcome.queued,
    failed: 0,
    is_exact: true,
  }
  const done = outcome.queued - waiting
  return (
    <Stack gap="md">
      <Text>Replayed:</Text>
      <Counts counts={outcome} />
      {outcome.queued > 0 && (
        <div aria-live="polite">
          <Progress
            value={(done / outcome.queued) * 100}
            aria-label="Deliveries that no longer wait"
            mb="xs"
          />
          <Text size="sm">
            {done} of {outcome.queued} {is_exact ? '' : 'or fewer '}sent
            {failed > 0 && `, ${failed} failed again`}
            {waiting > 0 && `, ${waiting} waiting`}
          </Text>
        </div>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </Group>
    </Stack>
  )
}
