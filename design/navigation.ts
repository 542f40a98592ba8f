/** A page of a workspace in the navigation of both kinds of pages. */
export interface NavigationEntry {
  label: string
  /** With `:workspace` for the workspace's ID. */
  path: string
  group: 'signals' | 'agents' | 'workspace'
  /** `dashboard` pages are drawn by the React app below /w/:workspace, others by the server. */
  kind: 'dashboard' | 'server'
  /** The roles that may open it; every member if left out. */
  roles?: readonly ('owner' | 'admin' | 'member')[]
}

export const NAVIGATION_GROUPS = { signals: 'Signals', agents: 'Agents', workspace: 'Workspace' }

/** The one list of the pages of a workspace, in the order of the navigation. */
export const NAVIGATION: readonly NavigationEntry[] = [
  { label: 'Overview', path: '/w/:workspace', group: 'signals', kind: 'dashboard' },
  { label: 'Events', path: '/w/:workspace/events', group: 'signals', kind: 'dashboard' },
  { label: 'Issues', path: '/w/:workspace/issues', group: 'signals', kind: 'dashboard' },
  {
    label: 'Destinations',
    path: '/w/:workspace/destinations',
    group: 'signals',
    kind: 'dashboard',
  },
  { label: 'Reports', path: '/w/:workspace/reports', group: 'signals', kind: 'dashboard' },
  { label: 'Import', path: '/w/:workspace/import', group: 'signals', kind: 'dashboard' },
  { label: 'Privacy', path: '/w/:workspace/privacy', group: 'signals', kind: 'dashboard' },
  { label: 'Keys', path: '/w/:workspace/keys', group: 'signals', kind: 'dashboard' },
  { label: 'Start', path: '/w/:workspace/start', group: 'signals', kind: 'dashboard' },
  serverPage('Approvals', 'approvals', 'agents'),
  serverPage('Agents', 'connections', 'agents', ['owner']),
  serverPage('Tokens', 'tokens', 'agents', ['owner']),
  serverPage('Policy', 'policy', 'agents'),
  serverPage('Ad accounts', 'ad-accounts', 'workspace'),
  serverPage('People', 'people', 'workspace'),
  serverPage('Notifications', 'notifications', 'workspace'),
  serverPage('Log', 'audit', 'workspace'),
  { label: 'Docs', path: '/docs', group: 'workspace', kind: 'server' },
]

/** The address of an entry for one workspace. */
export function navigationPath({ path }: NavigationEntry, workspaceId: string | number): string {
  return path.replace(':workspace', String(workspaceId))
}

function serverPage(
  label: string,
  key: string,
  group: NavigationEntry['group'],
  roles?: NonNullable<NavigationEntry['roles']>,
): NavigationEntry {
  const path = `/workspaces/:workspace/${key}`
  return { label, path, group, kind: 'server', ...(roles && { roles }) }
}
