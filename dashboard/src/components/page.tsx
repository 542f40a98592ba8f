import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'

interface PageProps {
  title: string
  /** One sentence below the title. */
  description?: ReactNode
  /** Buttons on the right. */
  actions?: ReactNode
  children: ReactNode
}

/** The frame of a page: its title, in the browser's tab as well, and its content. */
export function Page({ title, description, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Signalbox`
  }, [title])
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div>
          <Title order={1} size="h2">
            {title}
          </Title>
          {description && (
            <Text c="dimmed" maw="46rem">
              {description}
            </Text>
          )}
        </div>
        {actions && <Group gap="sm">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}
