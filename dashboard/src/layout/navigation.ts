/** A page of a workspace in the navigation of both kinds of pages. */
export interface NavigationEntry {
  label: string
  /** With `:workspace` for the workspace's ID. */
  path: string
  group: 'signals' | 'agents' | 'workspace'
  /** `dashboard` pages are drawn by the React app below /w/:workspace, others by the server. */
  kind: 'dashboard' | 'server'
  /** The roles that may open it; everyone if left out. */
  roles?: readonly ('owner' | 'admin' | 'member' | 'viewer')[]
}

export const NAVIGATION_GROUPS = { signals: 'Signals', agents: 'Agents', workspace: 'Workspace' }

/** Everyone but events viewers. */
const MEMBERS = ['owner', 'admin', 'member'] as const

/** The one list of the pages of a workspace, in the order of the navigation. */
export const NAVIGATION: readonly NavigationEntry[] = [
  dashboardPage('Overview', '', 'signals'),
  dashboardPage('Events', '/events', 'signals'),
  dashboardPage('Issues', '/issues', 'signals'),
  dashboardPage('Destinations', '/destinations', 'signals', MEMBERS),
  dashboardPage('Reports', '/reports', 'signals'),
  dashboardPage('Import', '/import', 'signals', MEMBERS),
  dashboardPage('Privacy', '/privacy', 'signals', MEMBERS),
  dashboardPage('Keys', '/keys', 'signals', MEMBERS),
  dashboardPage('Start', '/start', 'signals', MEMBERS),
  dashboardPage('Approvals', '/approvals', 'agents', MEMBERS),
  dashboardPage('Agents', '/agents', 'agents', ['owner']),
  dashboardPage('Tokens', '/tokens', 'agents', ['owner']),
  dashboardPage('Policy', '/policy', 'agents', MEMBERS),
  dashboardPage('Ad accounts', '/ad-accounts', 'workspace', MEMBERS),
  dashboardPage('People', '/people', 'workspace'),
  dashboardPage('Notifications', '/notifications', 'workspace', MEMBERS),
  dashboardPage('Log', '/audit', 'workspace', MEMBERS),
  { label: 'Docs', path: '/docs', group: 'workspace', kind: 'server' },
]

/** The address of an entry for one workspace. */
export function navigationPath({ path }: NavigationEntry, workspaceId: string | number): string {
  return path.replace(':workspace', String(workspaceId))
}

function dashboardPage(
  label: string,
  below: string,
  group: NavigationEntry['group'],
  roles?: NonNullable<NavigationEntry['roles']>,
): NavigationEntry {
  return { label, path: `/w/:workspace${below}`, group, kind: 'dashboard', ...(roles && { roles }) }
}
