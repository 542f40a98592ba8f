import { Button, Group } from '@mantine/core'
import type { CreatedTracker } from '@signalbox/contract/session/trackers.ts'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { Page } from '../components/page.tsx'
import { useCanManage, useTrackers, useWorkspace } from '../layout/scope.ts'
import { Checklist } from '../start/checklist.tsx'
import { NewKeys } from '../start/new-keys.tsx'
import { Playground } from '../start/playground.tsx'
import { CreateTrackerDialog, RenameTrackerDialog } from '../start/tracker-dialogs.tsx'

/** From an empty workspace to the first event that a platform accepted. */
export function StartPage() {
  const { id: workspace } = useWorkspace()
  const { tracker } = useTrackers()
  const canManage = useCanManage()
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'create' | 'rename' | null>(null)
  const [created, setCreated] = useState<CreatedTracker | null>(null)
  const close = () => setDialog(null)
  const create = canManage && (
    <Button variant={tracker ? 'default' : 'filled'} onClick={() => setDialog('create')}>
      {tracker ? 'Create another tracker' : 'Create a tracker'}
    </Button>
  )
  return (
    <Page
      title="Start"
      description="From the first key to the first event that a platform accepted."
      actions={
        tracker &&
        canManage && (
          <Group gap="sm">
            <Button variant="default" onClick={() => setDialog('rename')}>
              Rename {tracker.name}
            </Button>
            {create}
          </Group>
        )
      }
    >
      {!tracker && (
        <EmptyState title="No tracker yet" action={create}>
          A tracker receives the events of one shop.{' '}
          {canManage
            ? 'Create one to get its keys.'
            : 'Ask an owner or an administrator to create one.'}
        </EmptyState>
      )}
      {created && <NewKeys created={created} onDone={() => setCreated(null)} />}
      {tracker && <Checklist params={{ workspace, tracker: tracker.id }} />}
      <Playground />
      {dialog === 'create' && (
        <CreateTrackerDialog
          workspace={workspace}
          onClose={close}
          onCreated={made => {
            setCreated(made)
            close()
            void navigate({ to: '.', search: { tracker: made.id } as never })
          }}
        />
      )}
      {dialog === 'rename' && tracker && (
        <RenameTrackerDialog workspace={workspace} tracker={tracker} onClose={close} />
      )}
    </Page>
  )
}
