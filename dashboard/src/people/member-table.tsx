import { Group, Text } from '@mantine/core'
import {
  canGrantRole,
  hasPermission,
  ROLE_LABELS,
  type WorkspaceRole,
} from '@signalbox/contract/session/roles.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { type RowAction, RowMenu } from '../components/row-menu.tsx'
import { Tag } from '../components/status-badge.tsx'
import { Time } from '../components/time.tsx'
import type { Invitation, Member } from './people-api.ts'
import type { PeopleIntent } from './people-dialogs.tsx'

interface TableProps {
  ownRole: WorkspaceRole
  onIntent: (intent: PeopleIntent) => void
}

interface MemberTableProps extends TableProps {
  members: readonly Member[]
  ownId: number
}

/** The people of a workspace, with what the own role may do about each. */
export function MemberTable({ members, ownId, ...props }: MemberTableProps) {
  const columns: Column<Member>[] = [
    {
      key: 'email',
      header: 'Email',
      wrap: 'free',
      cell: member => (
        <>
          <Group gap={6}>
            <span>{member.email}</span>
            {member.user_id === ownId && <Tag>You</Tag>}
            {member.is_disabled && <Tag color="gray">Disabled</Tag>}
          </Group>
          <Text component="div" size="sm" c="dimmed" hiddenFrom="sm">
            <RoleCell member={member} />
          </Text>
        </>
      ),
    },
    { key: 'name', header: 'Name', wrap: 'free', from: 'sm', cell: ({ name }) => name },
    { key: 'role', header: 'Role', from: 'sm', cell: member => <RoleCell member={member} /> },
    {
      key: 'joined',
      header: 'Joined',
      wrap: 'whole',
      from: 'md',
      cell: ({ created_at: at }) => <Time at={at} format="relative" />,
    },
    {
      key: 'actions',
      header: '',
      align: 'right',
      cell: member => (
        <RowMenu about={member.email} actions={memberActions(member, { ownId, ...props })} />
      ),
    },
  ]
  return (
    <DataTable
      label="People"
      columns={columns}
      rows={members}
      rowKey={({ user_id: id }) => String(id)}
    />
  )
}

/** A role that waits names itself and its time. */
function RoleCell({ member: { role, waiting_role: waiting } }: { member: Member }) {
  return (
    <>
      {ROLE_LABELS[role]}
      {waiting && (
        <Text size="xs" c="dimmed">
          {ROLE_LABELS[waiting.role]} from <Time at={waiting.from} format="absolute" />, or when
          another owner confirms it
        </Text>
      )}
    </>
  )
}

function memberActions(
  member: Member,
  { ownId, ownRole, onIntent }: Omit<MemberTableProps, 'members'>,
): RowAction[] {
  const isOwn = member.user_id === ownId
  const mayChange = hasPermission(ownRole, 'change_role')
  const mayRemove = hasPermission(ownRole, 'remove_member') && canGrantRole(ownRole, member.role)
  const open = (action: 'role' | 'confirm' | 'remove' | 'leave') => () =>
    onIntent({ action, member })
  return [
    ...(mayChange && member.waiting_role
      ? [{ label: 'Confirm the role', onClick: open('confirm') }]
      : []),
    ...(mayChange ? [{ label: 'Change the role', onClick: open('role') }] : []),
    ...(isOwn ? [{ label: 'Leave the workspace', isDangerous: true, onClick: open('leave') }] : []),
    ...(mayRemove && !isOwn
      ? [{ label: 'Remove', isDangerous: true, onClick: open('remove') }]
      : []),
  ]
}

/** Invitations that nobody has answered. */
export function InvitationTable({
  invitations,
  ownRole,
  onIntent,
}: TableProps & { invitations: readonly Invitation[] }) {
  const columns: Column<Invitation>[] = [
    {
      key: 'email',
      header: 'Email',
      wrap: 'free',
      cell: ({ email, role }) => (
        <>
          {email}
          <Text size="sm" c="dimmed" hiddenFrom="sm">
            {ROLE_LABELS[role]}
          </Text>
        </>
      ),
    },
    { key: 'role', header: 'Role', from: 'sm', cell: ({ role }) => ROLE_LABELS[role] },
    {
      key: 'inviter',
      header: 'Invited by',
      wrap: 'free',
      from: 'md',
      cell: ({ inviter_name: name }) => name,
    },
    {
      key: 'expires',
      header: 'Expires',
      wrap: 'whole',
      from: 'sm',
      cell: ({ expires_at: at }) => <Time at={at} format="relative" isPlanned />,
    },
    {
      key: 'actions',
      header: '',
      align: 'right',
      cell: invitation => (
        <RowMenu
          about={`the invitation of ${invitation.email}`}
          actions={
            canGrantRole(ownRole, invitation.role)
              ? [
                  {
                    label: 'Withdraw',
                    isDangerous: true,
                    onClick: () => onIntent({ action: 'withdraw', invitation }),
                  },
                ]
              : []
          }
        />
      ),
    },
  ]
  return (
    <DataTable label="Invitations" columns={columns} rows={invitations} rowKey={({ id }) => id} />
  )
}
