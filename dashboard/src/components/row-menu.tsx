import { Button, Menu } from '@mantine/core'

export interface RowAction {
  label: string
  /** It takes something away. */
  isDangerous?: boolean
  onClick: () => void
}

interface RowMenuProps {
  /** What the row is about, for screen readers. */
  about: string
  actions: readonly RowAction[]
}

/** What a person can do with one row of a table; nothing at all without an action. */
export function RowMenu({ about, actions }: RowMenuProps) {
  if (actions.length === 0) return null
  return (
    <Menu position="bottom-end" width={200} shadow="md">
      <Menu.Target>
        <Button size="compact-sm" variant="default" aria-label={`Actions for ${about}`}>
          ⋯
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ label, isDangerous, onClick }) => (
          <Menu.Item
            key={label}
            onClick={onClick}
            {...(isDangerous && { c: 'var(--color-danger)' })}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
