import { infiniteQueryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { IdentifierType } from './digest-identifier.ts'

const ERASURES = '/workspaces/:workspace/trackers/:tracker/erasures'

export interface TrackerParams {
  workspace: string
  tracker: string
}

export const receiptsKey = ({ tracker }: TrackerParams) => ['erasures', tracker]

/** The receipts of erasures, the newest first. */
export const receiptsQuery = (params: TrackerParams) =>
  infiniteQueryOptions({
    queryKey: receiptsKey(params),
    queryFn: ({ signal, pageParam }) =>
      call(`GET ${ERASURES}`, { params, query: { cursor: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
  })

export const erasePerson = (params: TrackerParams, type: IdentifierType, digest: string) =>
  call(`POST ${ERASURES}`, {
    params,
    body: { identifier_type: type, identifier_hash: digest },
  })
