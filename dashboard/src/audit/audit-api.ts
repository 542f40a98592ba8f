import { infiniteQueryOptions, useMutation } from '@tanstack/react-query'
import { call, pathOf } from '../api/client.ts'

const AUDIT = '/workspaces/:workspace/audit'

/** The filters of the log, which are in the address of its page. */
export interface AuditSearch {
  action?: string
  subject_type?: string
  subject_id?: string
}

export const auditQuery = (workspace: string, search: AuditSearch) =>
  infiniteQueryOptions({
    queryKey: ['audit', workspace, search],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...search, before: pageParam }
      return call(`GET ${AUDIT}`, { params: { workspace }, query, signal })
    },
    initialPageParam: null as number | null,
    getNextPageParam: page => page.next_before,
  })

export const useVerification = (workspace: string) =>
  useMutation({
    mutationFn: () => call(`POST ${AUDIT}/verification`, { params: { workspace } }),
  })

export const exportPath = (workspace: string) =>
  pathOf(`GET ${AUDIT}/export`, { params: { workspace } })
