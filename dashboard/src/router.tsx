import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from '@tanstack/react-router'
import { ErrorNotice } from './components/error-notice.tsx'
import { PageSkeleton } from './components/page-skeleton.tsx'
import { Shell } from './layout/shell.tsx'

const rootRoute = createRootRoute()

/** The tracker that the pages show; without it, the oldest one of the workspace. */
interface WorkspaceSearch {
  tracker?: string
}

export const workspaceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/w/$workspace',
  validateSearch: ({ tracker }: Record<string, unknown>): WorkspaceSearch =>
    typeof tracker === 'string' && tracker !== '' ? { tracker } : {},
  search: { middlewares: [retainSearchParams(['tracker'])] },
  component: Shell,
})

const overviewRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview-page.tsx'), 'OverviewPage'),
})

export const router = createRouter({
  routeTree: rootRoute.addChildren([workspaceRoute.addChildren([overviewRoute])]),
  defaultErrorComponent: ({ error }) => <ErrorNotice error={error} />,
  defaultPendingComponent: PageSkeleton,
  defaultPreload: 'intent',
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
