import type {
  AdAccountList,
  AdAccount as AdAccountView,
  InvitationList,
  Me,
  MemberList,
  SessionList,
  WorkspaceList,
} from '@signalbox/contract/session/users.ts'
import { type ListPage, pageMembers } from '../../runtime/util/list-page.ts'
import type { AdAccount } from './ad-account-store.ts'
import type { Invitation } from './invitation-store.ts'
import { isRecentlyAuthenticated } from './reauthentication.ts'
import { endOfWait } from './role-standing.ts'
import type { ActiveSession, CurrentUser } from './session-store.ts'
import type { Member, Membership } from './workspace-store.ts'

/** Maps stored records to the JSON of the browser API (contract/session/users.ts). */
export function meView(user: CurrentUser, now: Date): Me {
  return {
    user_id: user.userId,
    session_id: user.sessionId,
    name: user.name,
    email: user.email,
    is_email_verified: user.isEmailVerified,
    is_identity_confirmed: isRecentlyAuthenticated(user, now),
  }
}

export function sessionListView(
  sessions: readonly ActiveSession[],
  { sessionId }: CurrentUser,
): SessionList {
  return {
    sessions: sessions.map(session => ({
      id: session.id,
      is_current: session.id === sessionId,
      user_agent: session.userAgent,
      created_at: session.createdAt.toISOString(),
      expires_at: session.expiresAt.toISOString(),
    })),
  }
}

export function workspaceListView(memberships: readonly Membership[]): WorkspaceList {
  const workspaces = memberships.map(membership => ({
    id: membership.workspaceId,
    name: membership.workspaceName,
    role: membership.role,
    requires_second_factor: membership.requiresSecondFactor,
  }))
  return { workspaces }
}

export function memberListView(members: readonly Member[]): MemberList {
  return {
    members: members.map(member => ({
      user_id: member.userId,
      name: member.name,
      email: member.email,
      role: member.role,
      is_disabled: member.isDisabled,
      created_at: member.createdAt.toISOString(),
      waiting_role: member.granted && {
        role: member.granted.role,
        from: endOfWait(member.granted).toISOString(),
      },
    })),
  }
}

export function invitationListView(list: ListPage<Invitation>): InvitationList {
  return {
    invitations: list.rows.map(invitation => ({
      id: invitation.id,
      workspace_id: invitation.workspaceId,
      workspace_name: invitation.workspaceName,
      email: invitation.email,
      role: invitation.role,
      inviter_name: invitation.inviterName,
      created_at: invitation.createdAt.toISOString(),
      expires_at: invitation.expiresAt.toISOString(),
    })),
    ...pageMembers(list),
  }
}

export function adAccountView(account: AdAccount): AdAccountView {
  return {
    id: account.id,
    platform: account.platform,
    platform_account_id: account.platformAccountId,
    name: account.name,
    currency: account.currency,
    time_zone: account.timeZone,
    status: account.status,
    created_at: account.createdAt.toISOString(),
  }
}

export function adAccountListView(accounts: readonly AdAccount[]): AdAccountList {
  return { ad_accounts: accounts.map(adAccountView) }
}
