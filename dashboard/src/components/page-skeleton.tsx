import { Skeleton, Stack } from '@mantine/core'

/** The outline of a page while its data is on the way. */
export function PageSkeleton() {
  return (
    <Stack gap="md" role="progressbar" aria-busy="true" aria-label="Loading">
      <Skeleton height={28} width={220} />
      <Skeleton height={96} />
      <Skeleton height={240} />
    </Stack>
  )
}
