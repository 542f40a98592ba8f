import type { DestinationStatusList } from '@signalbox/contract/session/destinations.ts'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'

/** Path parameters of a tracker. */
export interface TrackerParams {
  workspace: string
  tracker: string
}

export type DestinationStatus = DestinationStatusList['destinations'][number]
export type DestinationPlatform = DestinationStatusList['platforms'][number]

/** Everything about the destinations of a tracker, for refreshing after a change. */
export const destinationsKey = (params: TrackerParams) => ['destinations', params]

const REFRESH_MILLISECONDS = 5_000

export const destinationsQuery = (params: TrackerParams) =>
  queryOptions({
    queryKey: [...destinationsKey(params), 'list'],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/destinations', { params, signal }),
    refetchInterval: REFRESH_MILLISECONDS,
  })

const NOTICE_MILLISECONDS = 30_000

/** For the banner of every page. */
export const testModesQuery = (params: TrackerParams) =>
  queryOptions({
    queryKey: [...destinationsKey(params), 'test-modes'],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/test-modes', { params, signal }),
    refetchInterval: NOTICE_MILLISECONDS,
  })

export const adAccountsQuery = ({ workspace }: Pick<TrackerParams, 'workspace'>) =>
  queryOptions({
    queryKey: ['ad-accounts', workspace],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/ad-accounts', { params: { workspace }, signal }),
  })

export interface DestinationProps {
  status: DestinationStatus
  /** Left out when this process does not know the platform. */
  platform: DestinationPlatform | undefined
  /** When the status was read. */
  readAt: number
  params: TrackerParams
}
