import { Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { CopyBlock } from './copy.tsx'

interface EmptyStateProps {
  title: string
  children: ReactNode
  /** The command that fills the page, to copy. */
  command?: string
  /** A button that leads on. */
  action?: ReactNode
}

/** A page or list without content: why it is empty, and what to do next. */
export function EmptyState({ title, children, command, action }: EmptyStateProps) {
  return (
    <Stack className="surface" p="lg" gap="xs" align="flex-start">
      <Title order={2} size="h5">
        {title}
      </Title>
      <Text component="div" maw="46rem">
        {children}
      </Text>
      {command && <CopyBlock text={command} label="Copy the command" />}
      {action}
    </Stack>
  )
}
