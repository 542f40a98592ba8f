/** The roles of a workspace, from most to least powerful. */
export const WORKSPACE_ROLES = ['owner', 'admin', 'member', 'viewer'] as const
export type WorkspaceRole = (typeof WORKSPACE_ROLES)[number]

/** What a role can allow. */
export const WORKSPACE_ACTIONS = [
  'view_events',
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

/** The rule that the service enforces; the dashboard offers what it allows. */
const ROLE_PERMISSIONS: Record<WorkspaceRole, readonly WorkspaceAction[]> = {
  owner: WORKSPACE_ACTIONS,
  admin: [
    'view_events',
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
  member: ['view_events', 'read'],
  viewer: ['view_events'],
}

export function hasPermission(role: WorkspaceRole, action: WorkspaceAction): boolean {
  return ROLE_PERMISSIONS[role].includes(action)
}

/**
 * True when a person with `role` may grant `granted`, or remove a person who has it. Never a higher
 * role, so that an administrator cannot become an owner by inviting a second account.
 */
export function canGrantRole(role: WorkspaceRole, granted: WorkspaceRole): boolean {
  return WORKSPACE_ROLES.indexOf(role) <= WORKSPACE_ROLES.indexOf(granted)
}

/** The roles that a person may invite to, most powerful first; none without the permission. */
export function invitableRoles(role: WorkspaceRole): readonly WorkspaceRole[] {
  if (!hasPermission(role, 'invite')) return []
  return WORKSPACE_ROLES.filter(granted => canGrantRole(role, granted))
}

/** The roles that decide on proposals. Invited people wait 72 hours for one of these. */
export const DECIDING_ROLES: readonly WorkspaceRole[] = WORKSPACE_ROLES.filter(role =>
  hasPermission(role, 'decide_actions'),
)

export const ROLE_LABELS: Record<WorkspaceRole, string> = {
  owner: 'Owner',
  admin: 'Administrator',
  member: 'Member',
  viewer: 'Events viewer',
}

/** Each role in one sentence. */
export const ROLE_SUMMARIES: Record<WorkspaceRole, string> = {
  owner: 'Does everything, and decides what agents and other people may do.',
  admin: 'Runs trackers and destinations, decides on proposals and invites people.',
  member: 'Sees everything except the log and what only owners manage. Changes nothing.',
  viewer: 'Sees what happens to events. Changes nothing, decides nothing, sees no keys.',
}

/** What people may do, as sentences for each action or for actions that always go together. */
const ABILITIES: readonly { actions: readonly WorkspaceAction[]; sentence: string }[] = [
  { actions: ['view_events'], sentence: 'See the overview, events, issues and reports.' },
  {
    actions: ['read'],
    sentence: 'See the start page, keys without their secrets, people, proposals and the policy.',
  },
  {
    actions: ['manage_trackers', 'manage_deliveries'],
    sentence: 'Change trackers, keys and destinations, and replay failed deliveries.',
  },
  { actions: ['erase_people'], sentence: 'Erase the data of a person on request.' },
  { actions: ['decide_actions'], sentence: 'Approve, reject and undo what agents propose.' },
  { actions: ['read_audit'], sentence: 'Read the log of the workspace.' },
  { actions: ['manage_ad_accounts'], sentence: 'Add, disable and enable ad accounts.' },
  {
    actions: ['invite', 'remove_member'],
    sentence: 'Invite and remove people, up to their own role.',
  },
  {
    actions: ['change_role', 'rename_workspace', 'change_security'],
    sentence: 'Change roles, and whether everyone needs a second factor.',
  },
  { actions: ['manage_agents'], sentence: 'Connect and revoke agents, and issue tokens.' },
  { actions: ['change_policy'], sentence: 'Change the policy of agents.' },
  {
    actions: ['manage_notifications'],
    sentence: 'Change what the workspace sends, and its webhook.',
  },
]

/** What each role may do, one sentence each: for the page, the email and the documentation. */
export const ROLE_ABILITIES: Record<WorkspaceRole, readonly string[]> = {
  owner: sentencesOf('owner'),
  admin: sentencesOf('admin'),
  member: sentencesOf('member'),
  viewer: sentencesOf('viewer'),
}

function sentencesOf(role: WorkspaceRole): readonly string[] {
  return ABILITIES.filter(({ actions }) =>
    actions.every(action => hasPermission(role, action)),
  ).map(({ sentence }) => sentence)
}

/** The actions that the sentences are about; a test compares them with the list. */
export const DESCRIBED_ACTIONS = ABILITIES.map(({ actions }) => actions)
