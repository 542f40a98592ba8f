import { Button, Group, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'
import { PageSkeleton } from './page-skeleton.tsx'

interface ListSectionProps {
  title: string
  description?: ReactNode
  actions?: ReactNode
  list: LoadedList & { data: unknown; error: unknown; refetch: () => unknown }
  children: ReactNode
}

/** The pages of a list, as `useInfiniteQuery` returns them. */
export interface LoadedList {
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => unknown
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
      <ShowMore list={list} />
    </Stack>
  )
}

interface ShowMoreProps {
  list: LoadedList
  label?: string
}

/** Reads the next page of a list. Nothing at its end. */
export function ShowMore({ list, label = 'Show more' }: ShowMoreProps) {
  if (!list.hasNextPage) return null
  return (
    <div>
      <Button
        size="compact-sm"
        variant="default"
        loading={list.isFetchingNextPage}
        onClick={() => void list.fetchNextPage()}
      >
        {label}
      </Button>
    </div>
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
