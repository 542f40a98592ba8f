import { Button, Group, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'
import { PageSkeleton } from './page-skeleton.tsx'

interface ListSectionProps {
  title: string
  description?: ReactNode
  actions?: ReactNode
  /** The pages of the list, as `useInfiniteQuery` returns them. */
  list: {
    data: unknown
    error: unknown
    hasNextPage: boolean
    isFetchingNextPage: boolean
    refetch: () => unknown
    fetchNextPage: () => unknown
  }
  children: ReactNode
}

/** A list with a heading of its own, its error, and a button that leads to more rows. */
export function ListSection({ title, description, actions, list, children }: ListSectionProps) {
  return (
    <Stack component="section" aria-label={title} gap="xs">
      <Group justify="space-between" gap="sm">
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          {description && (
            <Text c="dimmed" size="sm" maw="46rem">
              {description}
            </Text>
          )}
        </div>
        {actions}
      </Group>
      {Boolean(list.error) && (
        <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      )}
      {!list.data && !list.error ? <PageSkeleton /> : children}
      {list.hasNextPage && (
        <div>
          <Button
            size="compact-sm"
            variant="default"
            loading={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            Show more
          </Button>
        </div>
      )}
    </Stack>
  )
}

interface NumberedPage {
  page: number
  has_more: boolean
}

/** The next page of a list whose pages have numbers. */
export function nextPageOf({ page, has_more: hasMore }: NumberedPage): number | undefined {
  return hasMore ? page + 1 : undefined
}
