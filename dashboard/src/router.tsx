import {
  createRootRoute,
  createRoute,
  createRouter,
  retainSearchParams,
} from '@tanstack/react-router'
import { ErrorNotice } from './components/error-notice.tsx'
import { PageSkeleton } from './components/page-skeleton.tsx'
import { readEventListSearch } from './events/event-filters.ts'
import { lazyPage } from './layout/lazy-page.ts'
import { Shell } from './layout/shell.tsx'
import { TrackerPages } from './layout/tracker-pages.tsx'
import { NotFoundPage } from './pages/not-found-page.tsx'
import { readReportSearch } from './reports/report-search.ts'

const rootRoute = createRootRoute()

/** The tracker that the pages show; without it, the oldest one of the workspace. */
interface WorkspaceSearch {
  tracker?: string
}

const workspaceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/w/$workspace',
  validateSearch: ({ tracker }: Record<string, unknown>): WorkspaceSearch =>
    typeof tracker === 'string' && tracker !== '' ? { tracker } : {},
  search: { middlewares: [retainSearchParams(['tracker'])] },
  component: Shell,
})

/** Beside the shell of a workspace: the list of all that a person belongs to. */
const workspacesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/workspaces',
  validateSearch: pickTexts(['done'] as const),
  component: lazyPage(() => import('./pages/workspaces-page.tsx'), 'WorkspacesPage'),
})

/** The parent of every page that shows one tracker. */
const trackerRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  id: 'tracker',
  component: TrackerPages,
})

const overviewRoute = createRoute({
  getParentRoute: () => trackerRoute,
  path: '/',
  validateSearch: pickTexts(['range', 'from', 'to', 'by', 'group', 'destination'] as const),
  component: lazyPage(() => import('./pages/overview-page.tsx'), 'OverviewPage'),
})

const eventsRoute = createRoute({
  getParentRoute: () => trackerRoute,
  path: '/events',
  validateSearch: readEventListSearch,
  // Filters change while the list stays live.
  search: { middlewares: [retainSearchParams(['live'])] },
  component: lazyPage(() => import('./pages/events-page.tsx'), 'EventsPage'),
})

const eventRoute = createRoute({
  getParentRoute: () => trackerRoute,
  path: '/events/$event',
  validateSearch: ({ space }: Record<string, unknown>): { space?: 'publishable' } =>
    space === 'publishable' ? { space } : {},
  component: lazyPage(() => import('./pages/event-page.tsx'), 'EventPage'),
})

const issuesRoute = createRoute({
  getParentRoute: () => trackerRoute,
  path: '/issues',
  validateSearch: pickTexts<'days' | 'event_id'>(['days', 'event_id']),
  component: lazyPage(() => import('./pages/issues-page.tsx'), 'IssuesPage'),
})

const startRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/start',
  component: lazyPage(() => import('./pages/start-page.tsx'), 'StartPage'),
})

const destinationsRoute = createRoute({
  getParentRoute: () => trackerRoute,
  path: '/destinations',
  component: lazyPage(() => import('./pages/destinations-page.tsx'), 'DestinationsPage'),
})

const reportsRoute = createRoute({
  getParentRoute: () => trackerRoute,
  path: '/reports',
  validateSearch: readReportSearch,
  component: lazyPage(() => import('./pages/reports-page.tsx'), 'ReportsPage'),
})

const importRoute = createRoute({
  getParentRoute: () => trackerRoute,
  path: '/import',
  component: lazyPage(() => import('./pages/import-page.tsx'), 'ImportPage'),
})

const privacyRoute = createRoute({
  getParentRoute: () => trackerRoute,
  path: '/privacy',
  component: lazyPage(() => import('./pages/privacy-page.tsx'), 'PrivacyPage'),
})

const keysRoute = createRoute({
  getParentRoute: () => trackerRoute,
  path: '/keys',
  component: lazyPage(() => import('./pages/keys-page.tsx'), 'KeysPage'),
})

const approvalsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/approvals',
  validateSearch: pickTexts(['view', 'page'] as const),
  component: lazyPage(() => import('./pages/approvals-page.tsx'), 'ApprovalsPage'),
})

const proposalRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/approvals/$proposal',
  component: lazyPage(() => import('./pages/proposal-page.tsx'), 'ProposalPage'),
})

const policyRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/policy',
  component: lazyPage(() => import('./pages/policy-page.tsx'), 'PolicyPage'),
})

const auditRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/audit',
  validateSearch: pickTexts(['action', 'subject_type', 'subject_id'] as const),
  component: lazyPage(() => import('./pages/audit-page.tsx'), 'AuditPage'),
})

const agentsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/agents',
  component: lazyPage(() => import('./pages/agents-page.tsx'), 'AgentsPage'),
})

const tokensRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/tokens',
  component: lazyPage(() => import('./pages/tokens-page.tsx'), 'TokensPage'),
})

const adAccountsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/ad-accounts',
  component: lazyPage(() => import('./pages/ad-accounts-page.tsx'), 'AdAccountsPage'),
})

const peopleRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/people',
  component: lazyPage(() => import('./pages/people-page.tsx'), 'PeoplePage'),
})

const notificationsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/notifications',
  component: lazyPage(() => import('./pages/notifications-page.tsx'), 'NotificationsPage'),
})

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    workspacesRoute,
    workspaceRoute.addChildren([
      startRoute,
      ...[approvalsRoute, proposalRoute, policyRoute, auditRoute],
      ...[agentsRoute, tokensRoute, adAccountsRoute, peopleRoute, notificationsRoute],
      trackerRoute.addChildren([
        overviewRoute,
        eventsRoute,
        eventRoute,
        issuesRoute,
        destinationsRoute,
        reportsRoute,
        importRoute,
        privacyRoute,
        keysRoute,
      ]),
    ]),
  ]),
  // Values of the address are texts: an order "0017" is not the number 17.
  parseSearch: text => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch,
  defaultErrorComponent: ({ error }) => <ErrorNotice error={error} />,
  defaultNotFoundComponent: NotFoundPage,
  defaultPendingComponent: PageSkeleton,
  defaultPreload: 'intent',
  scrollRestoration: true,
})

/** Keeps the members of an address that a page knows. */
function pickTexts<Name extends string>(names: readonly Name[]) {
  return (search: Record<string, unknown>): Partial<Record<Name, string>> => {
    const known = names.filter(name => typeof search[name] === 'string' && search[name] !== '')
    return Object.fromEntries(known.map(name => [name, search[name]])) as never
  }
}

function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
