import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'

interface TrackerParams {
  workspace: string
  tracker: string
}

const POLL_MILLISECONDS = 30_000

export const overviewQuery = (params: TrackerParams) =>
  queryOptions({
    queryKey: ['overview', params],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/overview', { params, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MILLISECONDS,
  })

export const flowQuery = (
  params: TrackerParams,
  range: { from: string; to: string; by: 'event' | 'receipt' },
) =>
  queryOptions({
    queryKey: ['flow', params, range],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/flow', { params, query: range, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MILLISECONDS,
  })

export const issuesQuery = (params: TrackerParams, days: number) =>
  queryOptions({
    queryKey: ['issues', params, days],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/issues', {
        params,
        query: { days },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MILLISECONDS,
  })

/** The refusals of the last days, or those of one event ID. */
export const refusalsQuery = (
  params: TrackerParams,
  filter: { days: number } | { event_id: string },
) =>
  queryOptions({
    queryKey: ['refusals', params, filter],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/refusals', {
        params,
        query: filter,
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MILLISECONDS,
  })
