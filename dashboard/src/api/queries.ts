import { QueryClient, queryOptions } from '@tanstack/react-query'
import { ApiError, call } from './client.ts'

const STALE_MILLISECONDS = 10_000
const RETRIES_MAX = 2
/** No response, too many requests, or a fault: worth another try. */
const RETRIED_STATUSES = [0, 429, 502, 503, 504]

export const queryClient = new QueryClient({
  defaultOptions: {
    // The browser's own word for being offline says nothing about the way to the service.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: STALE_MILLISECONDS,
      retry: (count, error) =>
        count < RETRIES_MAX && error instanceof ApiError && RETRIED_STATUSES.includes(error.status),
    },
  },
})

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => call('GET /me', { params: {}, signal }),
  staleTime: Number.POSITIVE_INFINITY,
})

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: ({ signal }) => call('GET /workspaces', { params: {}, signal }),
})

export const trackersQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['trackers', workspace],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers', { params: { workspace }, signal }),
  })
