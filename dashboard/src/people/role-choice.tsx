import { List, NativeSelect, Stack, Text } from '@mantine/core'
import {
  DECIDING_ROLES,
  ROLE_ABILITIES,
  ROLE_LABELS,
  type WorkspaceRole,
} from '@signalbox/contract/session/roles.ts'
import { IdentityFirst } from '../components/confirm-identity.tsx'

interface RoleChoiceProps {
  roles: readonly WorkspaceRole[]
  value: WorkspaceRole
  error: string | null
  onChange: (role: WorkspaceRole) => void
}

/** A role, with what it allows. */
export function RoleChoice({ roles, value, error, onChange }: RoleChoiceProps) {
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Role"
        value={value}
        data={roles.map(role => ({ value: role, label: ROLE_LABELS[role] }))}
        onChange={({ currentTarget }) => {
          const role = roles.find(each => each === currentTarget.value)
          if (role) onChange(role)
        }}
        error={error}
      />
      <div aria-live="polite">
        <Text size="sm" c="dimmed">
          {ROLE_LABELS[value]}s may:
        </Text>
        <List size="sm">
          {ROLE_ABILITIES[value].map(sentence => (
            <List.Item key={sentence}>{sentence}</List.Item>
          ))}
        </List>
      </div>
      {DECIDING_ROLES.includes(value) && (
        <Text size="sm">
          A person who joined in the last 72 hours has this role after 72 hours, or when an owner
          who did not invite them confirms it.
        </Text>
      )}
      {DECIDING_ROLES.includes(value) && <IdentityFirst>{null}</IdentityFirst>}
    </Stack>
  )
}
