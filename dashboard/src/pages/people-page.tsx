import { Button, Text } from '@mantine/core'
import { ROLE_LABELS, ROLE_SUMMARIES, WORKSPACE_ROLES } from '@signalbox/contract/session/roles.ts'
import { useInfiniteQuery, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { meQuery } from '../api/queries.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Facts, Section } from '../components/facts.tsx'
import { ListSection } from '../components/list-section.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { useCan, useWorkspace } from '../layout/scope.ts'
import { InvitationTable, MemberTable } from '../people/member-table.tsx'
import { invitationsQuery, membersQuery } from '../people/people-api.ts'
import { PeopleDialog, type PeopleIntent } from '../people/people-dialogs.tsx'

/** The people of a workspace, their roles and invitations; an events viewer sees the own row. */
export function PeoplePage() {
  const { id, role } = useWorkspace()
  const mayInvite = useCan('invite')
  const [intent, setIntent] = useState<PeopleIntent | null>(null)
  const { data: me } = useSuspenseQuery(meQuery)
  const members = useQuery(membersQuery(id))
  return (
    <Page
      title="People"
      description="Who may open this workspace, and what each of them may do."
      actions={
        mayInvite && (
          <Button onClick={() => setIntent({ action: 'invite' })}>Invite a person</Button>
        )
      }
    >
      {members.error && (
        <ErrorNotice error={members.error} onRetry={() => void members.refetch()} />
      )}
      {members.isPending && <PageSkeleton />}
      {members.data && (
        <MemberTable
          members={members.data.members}
          ownId={me.user_id}
          ownRole={role}
          onIntent={setIntent}
        />
      )}
      {mayInvite && <Invitations onIntent={setIntent} />}
      <SecondFactorSection onIntent={setIntent} />
      <Section title="Roles" description="The role is chosen with the invitation.">
        <Facts facts={WORKSPACE_ROLES.map(each => [ROLE_LABELS[each], ROLE_SUMMARIES[each]])} />
      </Section>
      {intent && <PeopleDialog intent={intent} onClose={() => setIntent(null)} />}
    </Page>
  )
}

interface IntentProps {
  onIntent: (intent: PeopleIntent) => void
}

function Invitations({ onIntent }: IntentProps) {
  const { id, role } = useWorkspace()
  const list = useInfiniteQuery(invitationsQuery(id))
  const invitations = list.data?.pages.flatMap(page => page.invitations) ?? []
  if (list.data && invitations.length === 0) return null
  return (
    <ListSection title="Invitations" list={list}>
      <InvitationTable invitations={invitations} ownRole={role} onIntent={onIntent} />
    </ListSection>
  )
}

function SecondFactorSection({ onIntent }: IntentProps) {
  const { requiresSecondFactor: isRequired } = useWorkspace()
  if (!useCan('change_security')) return null
  return (
    <Section
      title="Second factor"
      actions={
        <Button
          variant="default"
          size="sm"
          onClick={() => onIntent({ action: 'security', isRequired: !isRequired })}
        >
          {isRequired ? 'Make it optional' : 'Require a second factor'}
        </Button>
      }
    >
      <Text size="sm">
        {isRequired
          ? 'Every member needs an authenticator app or a passkey to open this workspace.'
          : 'Members may open this workspace with a password alone.'}
      </Text>
    </Section>
  )
}
