import type { ConnectionList, ExecutionTokenList } from '@signalbox/contract/session/agents.ts'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { Body } from '../api/operations.ts'
import { nextPageOf } from '../components/list-section.tsx'

const CONNECTIONS = '/workspaces/:workspace/connections'
const TOKENS = '/workspaces/:workspace/execution-tokens'

export type Connection = ConnectionList['connections'][number]
export type ExecutionToken = ExecutionTokenList['tokens'][number]

export const connectionsKey = (workspace: string) => ['connections', workspace]
export const tokensKey = (workspace: string) => ['execution-tokens', workspace]

export const connectionsQuery = (workspace: string) =>
  infiniteQueryOptions({
    queryKey: connectionsKey(workspace),
    queryFn: ({ signal, pageParam: page }) =>
      call(`GET ${CONNECTIONS}`, { params: { workspace }, query: { page }, signal }),
    initialPageParam: 1,
    getNextPageParam: nextPageOf,
  })

export const updateConnection = (
  params: { workspace: string; connection: number },
  body: Body<`PATCH ${typeof CONNECTIONS}/:connection`>,
) => call(`PATCH ${CONNECTIONS}/:connection`, { params, body })

export const revokeConnection = (params: { workspace: string; connection: number }) =>
  call(`DELETE ${CONNECTIONS}/:connection`, { params })

export const tokensQuery = (workspace: string) =>
  infiniteQueryOptions({
    queryKey: tokensKey(workspace),
    queryFn: ({ signal, pageParam: page }) =>
      call(`GET ${TOKENS}`, { params: { workspace }, query: { page }, signal }),
    initialPageParam: 1,
    getNextPageParam: nextPageOf,
  })

export const issueToken = (workspace: string, body: Body<`POST ${typeof TOKENS}`>) =>
  call(`POST ${TOKENS}`, { params: { workspace }, body })

export const revokeToken = (params: { workspace: string; token: number }) =>
  call(`DELETE ${TOKENS}/:token`, { params })
