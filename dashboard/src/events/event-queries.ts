import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { EventFilters } from './event-filters.ts'

export interface TrackerParams {
  workspace: string
  tracker: string
}

export const eventsQuery = (params: TrackerParams, filters: EventFilters) =>
  infiniteQueryOptions({
    queryKey: ['events', params, filters],
    queryFn: ({ pageParam, signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/events', {
        params,
        query: {
          status: filters.status,
          event_name: filters.name,
          order_id: filters.order,
          parent_event_id: filters.parent,
          from: filters.from,
          to: filters.to,
          cursor: pageParam,
        },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
  })

/** The events with this ID: one of each space at most. */
export const findEvents = (params: TrackerParams, eventId: string) =>
  call('GET /workspaces/:workspace/trackers/:tracker/events', {
    params,
    query: { event_id: eventId },
  })

export const eventQuery = (params: TrackerParams, event: string, space: string | undefined) =>
  queryOptions({
    queryKey: ['event', params, event, space ?? ''],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/events/:event', {
        params: { ...params, event },
        query: { space },
        signal,
      }),
  })
