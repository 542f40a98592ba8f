import {
  Anchor,
  AppShell,
  Burger,
  Button,
  Group,
  Kbd,
  NativeSelect,
  NavLink,
  Text,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { meQuery } from '../api/queries.ts'
import { approvalCountQuery } from '../approvals/approval-api.ts'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { useTimeZone } from '../components/time.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { HomeLink } from './home-link.tsx'
import {
  NAVIGATION,
  NAVIGATION_GROUPS,
  type NavigationEntry,
  navigationPath,
} from './navigation.ts'
import { useTrackers, useWorkspace } from './scope.ts'
import { TestModeBanner } from './test-mode-banner.tsx'

const CommandPalette = lazy(() => import('./command-palette.tsx'))

/** The frame of every page of a workspace: navigation, tracker, search, time zone and account. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure()
  const path = useLocation({ select: ({ pathname }) => pathname })
  useEffect(close, [path])
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="lg"
    >
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <AppShell.Header px="md" bg="var(--color-surface)">
        <Header isMenuOpen={isOpen} onMenu={toggle} />
      </AppShell.Header>
      <AppShell.Navbar
        p="sm"
        bg="var(--color-surface)"
        component="nav"
        aria-label="Workspace"
        style={{ overflowY: 'auto' }}
      >
        <Navigation />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <ConnectionNotice />
        <TestModeBanner />
        <Suspense fallback={<PageSkeleton />}>
          <Outlet />
        </Suspense>
      </AppShell.Main>
    </AppShell>
  )
}

function Header({ isMenuOpen, onMenu }: { isMenuOpen: boolean; onMenu: () => void }) {
  const { data: me } = useSuspenseQuery(meQuery)
  const workspace = useWorkspace()
  return (
    <Group h="100%" gap="md" wrap="nowrap" justify="space-between">
      <Group gap="sm" wrap="nowrap" style={{ minWidth: 0 }}>
        <Burger
          opened={isMenuOpen}
          onClick={onMenu}
          hiddenFrom="sm"
          size="sm"
          aria-label={isMenuOpen ? 'Close the menu' : 'Open the menu'}
        />
        <HomeLink />
        <Text truncate c="dimmed" visibleFrom="xs">
          {workspace.name}
        </Text>
      </Group>
      <Group gap="sm" wrap="nowrap">
        <Search />
        <Anchor href="/account" size="sm" visibleFrom="md" maw="24rem" truncate>
          {me.email}
        </Anchor>
      </Group>
    </Group>
  )
}

/** The command palette loads with its first use. */
function Search() {
  const [isRequested, setRequested] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setRequested(true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <Button variant="default" size="sm" fw={400} onClick={() => setRequested(true)}>
        Search
        <Kbd size="xs" ml="sm" className="search-key" visibleFrom="sm">
          Ctrl K
        </Kbd>
      </Button>
      {isRequested && (
        <Suspense>
          <CommandPalette onClose={() => setRequested(false)} />
        </Suspense>
      )}
    </>
  )
}

function Navigation() {
  const { id, role } = useWorkspace()
  const visible = NAVIGATION.filter(({ roles }) => roles === undefined || roles.includes(role))
  return (
    <>
      <TrackerSelect />
      {Object.entries(NAVIGATION_GROUPS).map(([group, label]) => (
        <div key={group} style={{ marginTop: '0.75rem' }}>
          <Text size="xs" fw={650} c="dimmed" px="sm" mb={4} component="h2">
            {label}
          </Text>
          {visible
            .filter(entry => entry.group === group)
            .map(entry => (
              <Entry key={entry.path} entry={entry} workspace={id} />
            ))}
        </div>
      ))}
      <ZoneSwitch />
      <ThemeSwitch />
      <form method="post" action="/sign-out">
        <Button type="submit" variant="subtle" size="compact-sm" mt="sm">
          Sign out
        </Button>
      </form>
    </>
  )
}

/** Else the link to the overview is current on every page below it. */
const EXACT = { exact: true, includeSearch: false }

function Entry({ entry, workspace }: { entry: NavigationEntry; workspace: string }) {
  const path = navigationPath(entry, workspace)
  const here = useLocation({ select: ({ pathname }) => pathname.replace(/\/$/, '') })
  const isActive = here === path || (path !== `/w/${workspace}` && here.startsWith(`${path}/`))
  const current = isActive ? { 'aria-current': 'page' as const } : {}
  if (entry.kind === 'server') {
    return <NavLink component="a" href={path} label={entry.label} className="nav-entry" />
  }
  return (
    <NavLink
      component={Link}
      to={path}
      activeOptions={EXACT}
      label={entry.label}
      rightSection={entry.label === 'Approvals' && <PendingCount workspace={workspace} />}
      active={isActive}
      variant="light"
      className="nav-entry"
      {...current}
    />
  )
}

/** More are shown as "99+". */
const PENDING_MAX = 99

/** Proposals that wait for a decision. */
function PendingCount({ workspace }: { workspace: string }) {
  const { data } = useQuery(approvalCountQuery(workspace))
  if (!data || data.pending === 0) return null
  return (
    <span className="pending-count">
      {data.pending > PENDING_MAX ? `${PENDING_MAX}+` : data.pending}
      <span className="visually-hidden"> pending</span>
    </span>
  )
}

function TrackerSelect() {
  const { trackers, tracker } = useTrackers()
  const navigate = useNavigate()
  if (trackers.length < 2) return null
  return (
    <NativeSelect
      label="Tracker"
      size="xs"
      value={tracker?.id ?? ''}
      data={trackers.map(({ id, name }) => ({ value: id, label: name }))}
      onChange={({ currentTarget }) => {
        const { value } = currentTarget
        void navigate({ to: '.', search: { tracker: value } as never })
      }}
    />
  )
}

function ZoneSwitch() {
  const [zone, setZone] = useTimeZone()
  return (
    <NativeSelect
      label="Times"
      size="xs"
      mt="lg"
      value={zone}
      data={[
        { value: 'local', label: 'Your time zone' },
        { value: 'utc', label: 'UTC' },
      ]}
      onChange={({ currentTarget }) => setZone(currentTarget.value === 'utc' ? 'utc' : 'local')}
    />
  )
}

const THEMES = { auto: 'As your system', light: 'Light', dark: 'Dark' } as const

function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <NativeSelect
      label="Theme"
      size="xs"
      mt="xs"
      value={colorScheme}
      data={Object.entries(THEMES).map(([value, label]) => ({ value, label }))}
      onChange={({ currentTarget: { value } }) => {
        setColorScheme(value === 'light' || value === 'dark' ? value : 'auto')
      }}
    />
  )
}
