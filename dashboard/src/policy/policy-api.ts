import type { PolicyStateAnswer, PolicySubmission } from '@signalbox/contract/agents/policy.ts'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client.ts'

const POLICY = '/workspaces/:workspace/policy'

const keyOf = (workspace: string) => ['policy', workspace] as const

export const policyQuery = (workspace: string) =>
  queryOptions({
    queryKey: keyOf(workspace),
    queryFn: ({ signal }) => call(`GET ${POLICY}`, { params: { workspace }, signal }),
  })

/** Changes the policy. The answer is the new state; a failure reads the state again. */
export function usePolicyChange<Input>(
  workspace: string,
  change: (input: Input) => Promise<PolicyStateAnswer>,
) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: state => client.setQueryData(keyOf(workspace), state),
    onSettled: () => client.invalidateQueries({ queryKey: keyOf(workspace) }),
  })
}

/** The body may still have texts that are no numbers: the service names them with all others. */
export const savePolicy = (workspace: string, body: unknown) =>
  call(`PUT ${POLICY}`, { params: { workspace }, body: body as PolicySubmission })

export const confirmPolicy = (workspace: string, version: number) =>
  call(`POST ${POLICY}/pending/confirmation`, { params: { workspace }, body: { version } })

export const cancelPolicy = (workspace: string, version: number) =>
  call(`POST ${POLICY}/pending/cancellation`, { params: { workspace }, body: { version } })
