import type { WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import type { InvitationList, MemberList } from '@signalbox/contract/session/users.ts'
import {
  infiniteQueryOptions,
  queryOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { nextPageOf } from '../components/list-section.tsx'

const WORKSPACE = '/workspaces/:workspace'

export type Member = MemberList['members'][number]
export type Invitation = InvitationList['invitations'][number]

const membersKey = (workspace: string) => ['people', workspace]

export const membersQuery = (workspace: string) =>
  queryOptions({
    queryKey: [...membersKey(workspace), 'members'],
    queryFn: ({ signal }) => call(`GET ${WORKSPACE}/members`, { params: { workspace }, signal }),
  })

export const invitationsQuery = (workspace: string) =>
  infiniteQueryOptions({
    queryKey: [...membersKey(workspace), 'invitations'],
    queryFn: ({ signal, pageParam: page }) =>
      call(`GET ${WORKSPACE}/invitations`, { params: { workspace }, query: { page }, signal }),
    initialPageParam: 1,
    getNextPageParam: nextPageOf,
  })

/** What people do to the people of a workspace. */
export type PeopleChange =
  | { kind: 'invite'; email: string; role: WorkspaceRole }
  | { kind: 'withdraw'; invitation: Invitation }
  | { kind: 'role'; member: Member; role: WorkspaceRole }
  | { kind: 'confirm'; member: Member }
  | { kind: 'remove'; member: Member }
  | { kind: 'security'; isRequired: boolean }

function applyChange(workspace: string, change: PeopleChange): Promise<unknown> {
  switch (change.kind) {
    case 'invite': {
      const { email, role } = change
      return call(`POST ${WORKSPACE}/invitations`, { params: { workspace }, body: { email, role } })
    }
    case 'withdraw': {
      const params = { workspace, invitation: change.invitation.id }
      return call(`DELETE ${WORKSPACE}/invitations/:invitation`, { params })
    }
    case 'role': {
      const params = { workspace, user: change.member.user_id }
      return call(`PATCH ${WORKSPACE}/members/:user`, { params, body: { role: change.role } })
    }
    case 'confirm': {
      const params = { workspace, user: change.member.user_id }
      return call(`POST ${WORKSPACE}/members/:user/role/confirmation`, { params })
    }
    case 'remove': {
      const params = { workspace, user: change.member.user_id }
      return call(`DELETE ${WORKSPACE}/members/:user`, { params })
    }
    case 'security': {
      const body = { second_factor_required: change.isRequired }
      return call(`PUT ${WORKSPACE}/security`, { params: { workspace }, body })
    }
  }
}

/**
 * Runs a change and reads the lists again, with the own role, which it may have changed. Who leaves
 * may read nothing any more.
 */
export function usePeopleChange(workspace: string, onDone: () => void, isLeaving = false) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (change: PeopleChange) => applyChange(workspace, change),
    onSuccess: onDone,
    onSettled: async (_answer, error) => {
      if (isLeaving && !error) return
      await client.invalidateQueries({ queryKey: membersKey(workspace) })
      await client.invalidateQueries({ queryKey: ['workspaces'] })
    },
  })
}

export const myInvitationsQuery = infiniteQueryOptions({
  queryKey: ['invitations'],
  queryFn: ({ signal, pageParam: page }) =>
    call('GET /invitations', { params: {}, query: { page }, signal }),
  initialPageParam: 1,
  getNextPageParam: nextPageOf,
})

/** Opens the new workspace once it exists. */
export function useWorkspaceCreation(onDone: (workspace: number) => void) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (name: string) => call('POST /workspaces', { params: {}, body: { name } }),
    onSuccess: async ({ id }) => {
      await client.invalidateQueries({ queryKey: ['workspaces'] })
      onDone(id)
    },
  })
}
