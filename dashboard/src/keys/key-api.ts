import type { TrackerKey } from '@signalbox/contract/session/keys.ts'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'

const TRACKER = '/workspaces/:workspace/trackers/:tracker'

/** The path parameters of a tracker. */
export interface TrackerParams {
  workspace: string
  tracker: string
}

export type KeyKind = TrackerKey['kind']

const KEYS = ['keys'] as const
export const keysOf = ({ tracker }: TrackerParams) => [...KEYS, tracker]

/** Last use moves while a rotation is under way. */
const REFRESH_MILLISECONDS = 15_000

/** The live keys, and the revoked ones page by page. */
export const keysQuery = (params: TrackerParams) =>
  infiniteQueryOptions({
    queryKey: keysOf(params),
    queryFn: ({ signal, pageParam }) =>
      call(`GET ${TRACKER}/keys`, { params, query: { cursor: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: page => page.next_cursor,
    refetchInterval: REFRESH_MILLISECONDS,
  })

export const issueKey = (params: TrackerParams, body: { kind: KeyKind; origins?: string[] }) =>
  call(`POST ${TRACKER}/keys`, { params, body })

export const rotateKey = (params: TrackerParams, key: string) =>
  call(`POST ${TRACKER}/keys/:key/rotation`, { params: { ...params, key } })

export const revokeKey = (params: TrackerParams, key: string) =>
  call(`DELETE ${TRACKER}/keys/:key`, { params: { ...params, key } })

export const forwarderQuery = (params: TrackerParams, kind: string, path: string) =>
  queryOptions({
    queryKey: ['forwarder', params.tracker, kind, path],
    queryFn: ({ signal }) =>
      call(`GET ${TRACKER}/forwarders/:kind`, {
        params: { ...params, kind },
        query: { path },
        signal,
      }),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: previous => previous,
  })

const CHECK_MILLISECONDS = 5_000

export const forwarderCheckQuery = (params: TrackerParams, path: string) =>
  queryOptions({
    queryKey: ['forwarder-check', params.tracker, path],
    queryFn: ({ signal }) =>
      call(`GET ${TRACKER}/forwarder-check`, { params, query: { path }, signal }),
    refetchInterval: CHECK_MILLISECONDS,
    placeholderData: previous => previous,
  })

/** What people call each kind, and where it may be. */
export const KEY_KINDS: readonly { kind: KeyKind; title: string; purpose: string }[] = [
  {
    kind: 'tracker_secret',
    title: 'Tracker secrets',
    purpose: 'Open every operation of the tracker. They stay on your server.',
  },
  {
    kind: 'publishable',
    title: 'Publishable keys',
    purpose: 'Send events from pages on the registered origins, and nothing else. They are public.',
  },
  {
    kind: 'forwarding',
    title: 'Forwarding secrets',
    purpose:
      'Sign the requests that a forwarder passes on, so that Signalbox trusts the address of the ' +
      'visitor. They stay in the forwarder.',
  },
]
