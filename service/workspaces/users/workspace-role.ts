/** Ordered from most to least powerful. */
export const WORKSPACE_ROLES = ['owner', 'admin', 'member'] as const
export type WorkspaceRole = (typeof WORKSPACE_ROLES)[number]

const WORKSPACE_ACTIONS = [
  'read',
  'manage_ad_accounts',
  'invite',
  'remove_member',
  'change_role',
  'rename_workspace',
  'change_security',
  'manage_agents',
  'decide_actions',
  'change_policy',
  'read_audit',
  'manage_notifications',
  'manage_trackers',
  'manage_deliveries',
  'erase_people',
] as const
export type WorkspaceAction = (typeof WORKSPACE_ACTIONS)[number]

const ROLE_PERMISSIONS: Record<WorkspaceRole, readonly WorkspaceAction[]> = {
  owner: WORKSPACE_ACTIONS,
  admin: [
    'read',
    'manage_ad_accounts',
    'invite',
    'remove_member',
    'decide_actions',
    'read_audit',
    'manage_trackers',
    'manage_deliveries',
    'erase_people',
  ],
  member: ['read'],
}

export function hasPermission(role: WorkspaceRole, action: WorkspaceAction): boolean {
  return ROLE_PERMISSIONS[role].includes(action)
}

/**
 * True when a member with `role` may grant `granted`, or remove a member who has it. Never a higher
 * role, so that an administrator cannot become an owner by inviting a second account.
 */
export function canGrantRole(role: WorkspaceRole, granted: WorkspaceRole): boolean {
  return WORKSPACE_ROLES.indexOf(role) <= WORKSPACE_ROLES.indexOf(granted)
}

/** The roles that a member may invite to, most powerful first; none without the permission. */
export function invitableRoles(role: WorkspaceRole): readonly WorkspaceRole[] {
  if (!hasPermission(role, 'invite')) return []
  return WORKSPACE_ROLES.filter(granted => canGrantRole(role, granted))
}

/** What a form says about a role that is not one of them. */
export const ROLE_ERROR = 'Choose a role from the list.'
