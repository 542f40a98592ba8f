import {
  Alert,
  Anchor,
  AppShell,
  Button,
  Container,
  Group,
  Stack,
  Text,
  TextInput,
} from '@mantine/core'
import { ROLE_LABELS } from '@signalbox/contract/session/roles.ts'
import type { WorkspaceList } from '@signalbox/contract/session/users.ts'
import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { fieldErrorOf, isShownByFields } from '../api/client.ts'
import { meQuery, workspacesQuery } from '../api/queries.ts'
import { ConfirmableError } from '../components/confirm-identity.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { ListSection } from '../components/list-section.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Tag } from '../components/status-badge.tsx'
import { Time } from '../components/time.tsx'
import { ConnectionNotice } from '../layout/connection-notice.tsx'
import { HomeLink } from '../layout/home-link.tsx'
import { type Invitation, myInvitationsQuery, useWorkspaceCreation } from '../people/people-api.ts'

/** The frame of what belongs to a person and not to one workspace. */
export function WorkspacesPage() {
  return (
    <AppShell header={{ height: 52 }} padding="lg">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <AppShell.Header px="md" bg="var(--color-surface)">
        <Group h="100%" gap="md" wrap="nowrap" justify="space-between">
          <HomeLink />
          <Suspense>
            <Account />
          </Suspense>
        </Group>
      </AppShell.Header>
      <AppShell.Main id="content" tabIndex={-1}>
        <ConnectionNotice />
        <Container size="50rem" px={0}>
          <Suspense fallback={<PageSkeleton />}>
            <Workspaces />
          </Suspense>
        </Container>
      </AppShell.Main>
    </AppShell>
  )
}

function Account() {
  const { data: me } = useSuspenseQuery(meQuery)
  return (
    <Group gap="md" wrap="nowrap" style={{ minWidth: 0 }}>
      <Anchor href="/account" truncate maw="18rem">
        {me.email}
      </Anchor>
      <form method="post" action="/sign-out">
        <Button type="submit" variant="default" size="compact-sm">
          Sign out
        </Button>
      </form>
    </Group>
  )
}

function Workspaces() {
  const { data } = useSuspenseQuery(workspacesQuery)
  const { done } = useSearch({ from: '/workspaces' })
  const [isCreating, setCreating] = useState(false)
  const { workspaces } = data
  return (
    <Page
      title="Your workspaces"
      actions={
        workspaces.length > 0 && (
          <Button onClick={() => setCreating(true)}>Create a workspace</Button>
        )
      }
    >
      {done === 'invitation_declined' && (
        <Alert role="status" variant="light" title="You declined the invitation." />
      )}
      <Invitations />
      {workspaces.length === 0 ? <FirstWorkspace /> : <WorkspaceTable workspaces={workspaces} />}
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
    </Page>
  )
}

type Workspace = WorkspaceList['workspaces'][number]

const COLUMNS: readonly Column<Workspace>[] = [
  {
    key: 'name',
    header: 'Name',
    wrap: 'free',
    cell: ({ id, name }) => (
      <Anchor component={Link} to="/w/$workspace" params={{ workspace: String(id) } as never}>
        {name}
      </Anchor>
    ),
  },
  {
    key: 'role',
    header: 'Your role',
    wrap: 'whole',
    cell: ({ role }) => <Tag color="gray">{ROLE_LABELS[role]}</Tag>,
  },
  {
    key: 'factor',
    header: 'Second factor',
    from: 'sm',
    cell: row => (row.requires_second_factor ? 'Required' : 'Optional'),
  },
]

function WorkspaceTable({ workspaces }: { workspaces: readonly Workspace[] }) {
  return (
    <DataTable
      label="Your workspaces"
      columns={COLUMNS}
      rows={workspaces}
      rowKey={({ id }) => String(id)}
    />
  )
}

/** Nothing without an invitation. */
function Invitations() {
  const list = useInfiniteQuery(myInvitationsQuery)
  const invitations = list.data?.pages.flatMap(page => page.invitations) ?? []
  if (invitations.length === 0 && !list.error) return null
  return (
    <ListSection title="Invitations" list={list}>
      <DataTable
        label="Invitations"
        columns={INVITATION_COLUMNS}
        rows={invitations}
        rowKey={({ id }) => id}
      />
    </ListSection>
  )
}

const INVITATION_COLUMNS: readonly Column<Invitation>[] = [
  {
    key: 'workspace',
    header: 'Workspace',
    wrap: 'free',
    cell: ({ workspace_name: name }) => <bdi>{name}</bdi>,
  },
  { key: 'role', header: 'Role', wrap: 'whole', cell: ({ role }) => ROLE_LABELS[role] },
  { key: 'from', header: 'From', from: 'sm', cell: row => <bdi>{row.inviter_name}</bdi> },
  { key: 'until', header: 'Until', from: 'sm', cell: row => <Time at={row.expires_at} /> },
  {
    key: 'answer',
    header: '',
    align: 'right',
    cell: ({ id, workspace_name: name }) => (
      <Anchor href={`/invitations/${id}`}>
        Answer<span className="visually-hidden"> the invitation to {name}</span>
      </Anchor>
    ),
  },
]

interface CreationProps {
  onClose: () => void
}

function useCreation() {
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const creation = useWorkspaceCreation(id => {
    void navigate({ to: '/w/$workspace/start', params: { workspace: String(id) } })
  })
  const field = (
    <TextInput
      data-autofocus
      label="Name"
      description="Your shop or your company."
      required
      maxLength={100}
      autoComplete="organization"
      value={name}
      onChange={({ currentTarget }) => setName(currentTarget.value)}
      error={fieldErrorOf(creation.error, 'name')}
    />
  )
  const error = isShownByFields(creation.error, ['name']) ? null : creation.error
  const submit = () => creation.mutate(name)
  return { field, error, submit, isPending: creation.isPending }
}

function CreateDialog({ onClose }: CreationProps) {
  const { field, error, submit, isPending } = useCreation()
  return (
    <FormDialog
      title="Create a workspace"
      submitLabel="Create the workspace"
      isPending={isPending}
      error={error}
      onSubmit={submit}
      onClose={onClose}
    >
      {field}
    </FormDialog>
  )
}

/** A new person has nothing else to do here. */
function FirstWorkspace() {
  const { field, error, submit, isPending } = useCreation()
  return (
    <form
      className="surface"
      onSubmit={event => {
        event.preventDefault()
        submit()
      }}
    >
      <Stack gap="md" p="lg" maw="32rem">
        <Text>
          A workspace holds the trackers of a shop or company, and the people who work with them.
        </Text>
        {field}
        {error !== null && <ConfirmableError error={error} />}
        <div>
          <Button type="submit" loading={isPending}>
            Create the workspace
          </Button>
        </div>
      </Stack>
    </form>
  )
}
