import type { DecisionSubmission } from '@signalbox/contract/agents/approvals.ts'
import {
  infiniteQueryOptions,
  queryOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import { call } from '../api/client.ts'

const WORKSPACE = '/workspaces/:workspace'

/** Everything that a decision changes is read again after it. */
const approvalsKey = (workspace: string) => ['approvals', workspace] as const

export const approvalCountQuery = (workspace: string) =>
  queryOptions({
    queryKey: [...approvalsKey(workspace), 'count'],
    queryFn: ({ signal }) =>
      call(`GET ${WORKSPACE}/approval-count`, { params: { workspace }, signal }),
  })

export const queueQuery = (workspace: string, page: number) =>
  queryOptions({
    queryKey: [...approvalsKey(workspace), 'queue', page],
    queryFn: ({ signal }) =>
      call(`GET ${WORKSPACE}/approvals`, { params: { workspace }, query: { page }, signal }),
  })

export const decidedQuery = (workspace: string) =>
  infiniteQueryOptions({
    queryKey: [...approvalsKey(workspace), 'decided'],
    queryFn: ({ signal, pageParam }) =>
      call(`GET ${WORKSPACE}/decided-actions`, {
        params: { workspace },
        query: { before: pageParam },
        signal,
      }),
    initialPageParam: null as number | null,
    getNextPageParam: page => page.next_before,
  })

const EXECUTING = ['executing', 'executed_pending_verification']
const EXECUTING_MILLISECONDS = 2_000

export const proposalQuery = (workspace: string, proposal: string) =>
  queryOptions({
    queryKey: [...approvalsKey(workspace), 'proposal', proposal],
    queryFn: ({ signal }) =>
      call(`GET ${WORKSPACE}/approvals/:batch`, { params: { workspace, batch: proposal }, signal }),
    // What is being executed is read again until it has a result.
    refetchInterval: ({ state }) =>
      state.data?.batch.actions.some(({ status }) => EXECUTING.includes(status))
        ? EXECUTING_MILLISECONDS
        : false,
  })

/** Stores a decision, and reads what it changed, also when another one was first. */
export function useDecision(workspace: string, proposal: number) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (body: DecisionSubmission) =>
      call(`POST ${WORKSPACE}/approvals/:batch/decision`, {
        params: { workspace, batch: proposal },
        body,
      }),
    onSettled: () =>
      client.invalidateQueries({ queryKey: approvalsKey(workspace), refetchType: 'all' }),
  })
}

/** Proposes to undo an action; the answer is the new proposal. */
export function useUndo(workspace: string, action: number) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (reason: string) =>
      call(`POST ${WORKSPACE}/actions/:action/undo`, {
        params: { workspace, action },
        body: reason === '' ? {} : { reason },
      }),
    onSettled: () =>
      client.invalidateQueries({ queryKey: approvalsKey(workspace), refetchType: 'all' }),
  })
}
