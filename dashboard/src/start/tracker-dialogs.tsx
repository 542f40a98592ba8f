import { Textarea, TextInput } from '@mantine/core'
import type { CreatedTracker, TrackerList } from '@signalbox/contract/session/trackers.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, call } from '../api/client.ts'
import { trackersQuery } from '../api/queries.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { PageIdSharingChoice } from '../keys/page-id-sharing.tsx'

interface CreateTrackerProps {
  workspace: string
  onClose: () => void
  onCreated: (created: CreatedTracker) => void
}

/** Asks for the name of a shop and for the websites whose pages send events. */
export function CreateTrackerDialog({ workspace, onClose, onCreated }: CreateTrackerProps) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [origins, setOrigins] = useState('')
  const [sharesIds, setSharesIds] = useState<boolean | null>(null)
  const websites = origins.split(/\s+/).filter(line => line !== '')
  const create = useMutation({
    mutationFn: () =>
      call('POST /workspaces/:workspace/trackers', {
        params: { workspace },
        body: {
          name,
          origins: websites,
          ...(websites.length > 0 && sharesIds !== null && { share_page_ids: sharesIds }),
        },
      }),
    onSuccess: async created => {
      await client.invalidateQueries({ queryKey: trackersQuery(workspace).queryKey })
      onCreated(created)
    },
  })
  const errors = errorsOf(create.error)
  const originErrors = Object.entries(errors)
    .filter(([field]) => field.startsWith('origins'))
    .flatMap(([, sentences]) => sentences)
  return (
    <FormDialog
      title="Create a tracker"
      submitLabel="Create the tracker"
      isPending={create.isPending}
      error={unshownError(create.error)}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="The name of the shop or the app."
        value={name}
        maxLength={100}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        error={errors.name?.join(' ')}
        data-autofocus
        required
      />
      <Textarea
        label="Websites (optional)"
        description="If pages send events: one origin a line, such as https://shop.example."
        autosize
        minRows={2}
        spellCheck={false}
        value={origins}
        onChange={({ currentTarget }) => setOrigins(currentTarget.value)}
        error={[...new Set(originErrors)].join(' ')}
      />
      {websites.length > 0 && (
        <PageIdSharingChoice
          value={sharesIds}
          onChange={setSharesIds}
          error={errors.share_page_ids?.join(' ')}
        />
      )}
    </FormDialog>
  )
}

interface RenameTrackerProps {
  workspace: string
  tracker: TrackerList['trackers'][number]
  onClose: () => void
}

export function RenameTrackerDialog({ workspace, tracker, onClose }: RenameTrackerProps) {
  const client = useQueryClient()
  const [name, setName] = useState(tracker.name)
  const rename = useMutation({
    mutationFn: () =>
      call('PATCH /workspaces/:workspace/trackers/:tracker', {
        params: { workspace, tracker: tracker.id },
        body: { name },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: trackersQuery(workspace).queryKey })
      onClose()
    },
  })
  return (
    <FormDialog
      title="Rename the tracker"
      submitLabel="Rename"
      isPending={rename.isPending}
      error={unshownError(rename.error)}
      onSubmit={() => rename.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        value={name}
        maxLength={100}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        error={errorsOf(rename.error).name?.join(' ')}
        data-autofocus
        required
      />
    </FormDialog>
  )
}

function errorsOf(error: unknown): Readonly<Record<string, string[]>> {
  return error instanceof ApiError ? error.errors : {}
}

/** The fields show theirs. */
function unshownError(error: unknown): unknown {
  return Object.keys(errorsOf(error)).length > 0 ? null : error
}
