import { Text, TextInput } from '@mantine/core'
import {
  DECIDING_ROLES,
  invitableRoles,
  ROLE_LABELS,
  WORKSPACE_ROLES,
  type WorkspaceRole,
} from '@signalbox/contract/session/roles.ts'
import { useState } from 'react'
import { fieldErrorOf, isShownByFields } from '../api/client.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { Time } from '../components/time.tsx'
import { useWorkspace } from '../layout/scope.ts'
import { type Invitation, type Member, type PeopleChange, usePeopleChange } from './people-api.ts'
import { RoleChoice } from './role-choice.tsx'

/** What a person wants to do on the page. */
export type PeopleIntent =
  | { action: 'invite' }
  | { action: 'withdraw'; invitation: Invitation }
  | { action: 'role'; member: Member }
  | { action: 'confirm' | 'remove' | 'leave'; member: Member }
  | { action: 'security'; isRequired: boolean }

interface DialogProps {
  intent: PeopleIntent
  onClose: () => void
}

/** Asks before anything about people changes. */
export function PeopleDialog({ intent, onClose }: DialogProps) {
  switch (intent.action) {
    case 'invite':
      return <InviteDialog onClose={onClose} />
    case 'role':
      return <RoleDialog member={intent.member} onClose={onClose} />
    case 'withdraw':
    case 'confirm':
    case 'remove':
    case 'leave':
    case 'security':
      return <QuestionDialog intent={intent} onClose={onClose} />
  }
}

function InviteDialog({ onClose }: Pick<DialogProps, 'onClose'>) {
  const { id, role: ownRole } = useWorkspace()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<WorkspaceRole>('member')
  const invite = usePeopleChange(id, onClose)
  return (
    <FormDialog
      title="Invite a person"
      submitLabel="Send the invitation"
      isPending={invite.isPending}
      error={isShownByFields(invite.error, ['email', 'role']) ? null : invite.error}
      onSubmit={() => invite.mutate({ kind: 'invite', email, role })}
      onClose={onClose}
    >
      <TextInput
        data-autofocus
        type="email"
        label="Email"
        description="The invitation works for this address alone, for 7 days."
        autoComplete="off"
        maxLength={254}
        required
        value={email}
        onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        error={fieldErrorOf(invite.error, 'email')}
      />
      <RoleChoice
        roles={invitableRoles(ownRole).toReversed()}
        value={role}
        error={fieldErrorOf(invite.error, 'role')}
        onChange={setRole}
      />
    </FormDialog>
  )
}

function RoleDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const { id } = useWorkspace()
  const [role, setRole] = useState<WorkspaceRole>(member.role)
  const change = usePeopleChange(id, onClose)
  const roleError = fieldErrorOf(change.error, 'role')
  return (
    <FormDialog
      title={`Role of ${member.email}`}
      submitLabel="Change the role"
      canSubmit={role !== member.role || member.waiting_role !== null}
      isPending={change.isPending}
      error={roleError ? null : change.error}
      onSubmit={() => change.mutate({ kind: 'role', member, role })}
      onClose={onClose}
    >
      <RoleChoice
        roles={WORKSPACE_ROLES.toReversed()}
        value={role}
        error={roleError}
        onChange={setRole}
      />
      {DECIDING_ROLES.includes(member.role) && !DECIDING_ROLES.includes(role) && (
        <Text size="sm">Invitations that they sent to higher roles are withdrawn.</Text>
      )}
    </FormDialog>
  )
}

type Question = Exclude<PeopleIntent, { action: 'invite' | 'role' }>

function QuestionDialog({ intent, onClose }: { intent: Question; onClose: () => void }) {
  const { id } = useWorkspace()
  const isLeaving = intent.action === 'leave'
  const { title, submitLabel, change, isSensitive = false } = questionOf(intent)
  const onDone = () => (isLeaving ? location.assign('/workspaces') : onClose())
  const run = usePeopleChange(id, onDone, isLeaving)
  return (
    <FormDialog
      title={title}
      submitLabel={submitLabel}
      isFinal={isLeaving || intent.action === 'remove'}
      isSensitive={isSensitive}
      isPending={run.isPending}
      error={run.error}
      onSubmit={() => run.mutate(change)}
      onClose={onClose}
    >
      <QuestionText intent={intent} />
    </FormDialog>
  )
}

interface QuestionWords {
  title: string
  submitLabel: string
  change: PeopleChange
  isSensitive?: boolean
}

function questionOf(intent: Question): QuestionWords {
  switch (intent.action) {
    case 'withdraw': {
      const { invitation } = intent
      const title = `Withdraw the invitation of ${invitation.email}?`
      return { title, submitLabel: 'Withdraw', change: { kind: 'withdraw', invitation } }
    }
    case 'confirm': {
      const { member } = intent
      const title = `Confirm the role of ${member.email}?`
      const change = { kind: 'confirm', member } as const
      return { title, submitLabel: 'Confirm the role', change, isSensitive: true }
    }
    case 'remove':
    case 'leave': {
      const { member, action } = intent
      const isOwn = action === 'leave'
      const title = isOwn ? 'Leave the workspace?' : `Remove ${member.email}?`
      return { title, submitLabel: isOwn ? 'Leave' : 'Remove', change: { kind: 'remove', member } }
    }
    case 'security': {
      const { isRequired } = intent
      const title = isRequired ? 'Require a second factor?' : 'Make the second factor optional?'
      const submitLabel = isRequired ? 'Require it' : 'Make it optional'
      return { title, submitLabel, change: { kind: 'security', isRequired }, isSensitive: true }
    }
  }
}

function QuestionText({ intent }: { intent: Question }) {
  switch (intent.action) {
    case 'withdraw':
      return <Text size="sm">The link in the email stops working.</Text>
    case 'confirm': {
      const { waiting_role: waiting } = intent.member
      if (!waiting) return null
      return (
        <Text size="sm">
          They become {ROLE_LABELS[waiting.role].toLowerCase()} now, instead of at{' '}
          <Time at={waiting.from} format="absolute" />. Only an owner of at least 72 hours who did
          not invite them can confirm it.
        </Text>
      )
    }
    case 'remove':
    case 'leave':
      return (
        <Text size="sm">
          Access ends at once. Invitations that were sent but not answered are withdrawn, and agents
          and tokens of an owner stop working.
        </Text>
      )
    case 'security':
      return (
        <Text size="sm">
          {intent.isRequired
            ? 'Members without an authenticator app or a passkey cannot open this workspace ' +
              'until they add one to their account.'
            : 'Members may then open this workspace with a password alone.'}
        </Text>
      )
  }
}
