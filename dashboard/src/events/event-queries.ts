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
        query: { ...toQuery(filters), cursor: pageParam },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
  })

/** The filters under the names of the operation. */
export function toQuery(filters: EventFilters) {
  return {
    search: filters.search,
    status: filters.status,
    event_name: filters.name,
    destination_id: filters.destination,
    reason: filters.reason,
    test: filters.test,
    space: filters.space,
    value_min: filters.value,
    order_id: filters.order,
    parent_event_id: filters.parent,
    happened_from: filters.event_from,
    happened_to: filters.event_to,
    from: filters.from,
    to: filters.to,
  }
}

/** The events that have this text as their ID, order, parent or trace ID. */
export const findEvents = (params: TrackerParams, eventId: string) =>
  call('GET /workspaces/:workspace/trackers/:tracker/events', {
    params,
    query: { search: eventId },
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
