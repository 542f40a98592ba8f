import { MessageError } from '../errors.ts'
import {
  ALL_REFUSALS,
  CHECKED_REFUSALS,
  FOUND_REFUSALS,
  Nothing,
  PageQuery,
  query,
  REFUSALS,
  read,
  write,
} from './session-operation.ts'
import {
  AdAccount,
  AdAccountChange,
  AdAccountList,
  AdAccountSubmission,
  Created,
  CreatedInvitation,
  InvitationAnswer,
  InvitationList,
  InvitationSubmission,
  Me,
  MemberList,
  RoleSubmission,
  SessionList,
  WorkspaceList,
  WorkspaceSecurity,
  WorkspaceSubmission,
} from './users.ts'

/**
 * The operations of pages in the dashboard, in the shape of Fastify routes. The session cookie is
 * the credential. Not signed and not versioned: the dashboard is delivered with the service.
 */
export const getMe = read('getMe', '/me', { 200: Me, ...REFUSALS })

export const listSessions = read('listSessions', '/sessions', { 200: SessionList, ...REFUSALS })
export const endSession = write('endSession', 'DELETE /sessions/:session', {
  response: { 204: Nothing, ...FOUND_REFUSALS },
})
export const endOtherSessions = write('endOtherSessions', 'DELETE /sessions', {
  response: { 204: Nothing, ...REFUSALS },
})

export const listWorkspaces = read('listWorkspaces', '/workspaces', {
  200: WorkspaceList,
  ...REFUSALS,
})
export const createWorkspace = write('createWorkspace', 'POST /workspaces', {
  body: WorkspaceSubmission,
  response: { 201: Created, ...CHECKED_REFUSALS },
})
export const renameWorkspace = write('renameWorkspace', 'PATCH /workspaces/:workspace', {
  body: WorkspaceSubmission,
  response: { 204: Nothing, ...ALL_REFUSALS },
})

/** Whether every member needs a second factor. 403: the person has not confirmed their identity. */
export const changeWorkspaceSecurity = write(
  'changeWorkspaceSecurity',
  'PUT /workspaces/:workspace/security',
  { body: WorkspaceSecurity, response: { 204: Nothing, ...ALL_REFUSALS } },
)

export const listMembers = read('listMembers', '/workspaces/:workspace/members', {
  200: MemberList,
  ...FOUND_REFUSALS,
})
export const changeMemberRole = write(
  'changeMemberRole',
  'PATCH /workspaces/:workspace/members/:user',
  { body: RoleSubmission, response: { 204: Nothing, ...ALL_REFUSALS } },
)
/** Ends the wait of an invited owner or administrator. 409: no role waits. */
export const confirmMemberRole = write(
  'confirmMemberRole',
  'POST /workspaces/:workspace/members/:user/role/confirmation',
  { response: { 204: Nothing, ...ALL_REFUSALS, 409: MessageError } },
)
export const removeMember = write('removeMember', 'DELETE /workspaces/:workspace/members/:user', {
  response: { 204: Nothing, ...ALL_REFUSALS },
})

export const listInvitations = query('listInvitations', '/workspaces/:workspace/invitations', {
  querystring: PageQuery,
  response: {
    200: InvitationList,
    ...FOUND_REFUSALS,
  },
})
export const createInvitation = write(
  'createInvitation',
  'POST /workspaces/:workspace/invitations',
  { body: InvitationSubmission, response: { 201: CreatedInvitation, ...ALL_REFUSALS } },
)
export const withdrawInvitation = write(
  'withdrawInvitation',
  'DELETE /workspaces/:workspace/invitations/:invitation',
  { response: { 204: Nothing, ...FOUND_REFUSALS } },
)
export const listMyInvitations = query('listMyInvitations', '/invitations', {
  querystring: PageQuery,
  response: {
    200: InvitationList,
    ...REFUSALS,
  },
})
export const answerInvitation = write('answerInvitation', 'POST /invitations/:invitation', {
  body: InvitationAnswer,
  response: { 200: Created, ...ALL_REFUSALS },
})

export const listAdAccounts = read('listAdAccounts', '/workspaces/:workspace/ad-accounts', {
  200: AdAccountList,
  ...FOUND_REFUSALS,
})
export const createAdAccount = write('createAdAccount', 'POST /workspaces/:workspace/ad-accounts', {
  body: AdAccountSubmission,
  response: { 201: AdAccount, ...ALL_REFUSALS },
})
export const updateAdAccount = write(
  'updateAdAccount',
  'PATCH /workspaces/:workspace/ad-accounts/:account',
  { body: AdAccountChange, response: { 204: Nothing, ...ALL_REFUSALS } },
)

export const PEOPLE_OPERATIONS = [
  ...[getMe, listSessions, endSession, endOtherSessions],
  ...[listWorkspaces, createWorkspace, renameWorkspace, changeWorkspaceSecurity],
  ...[listMembers, changeMemberRole, confirmMemberRole, removeMember],
  ...[listInvitations, createInvitation, withdrawInvitation, listMyInvitations, answerInvitation],
  ...[listAdAccounts, createAdAccount, updateAdAccount],
] as const
