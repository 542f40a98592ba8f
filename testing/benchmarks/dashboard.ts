import { startChromium } from '@signalbox/browser/testing/chromium-under-test.ts'
import { buildDashboard } from '@signalbox/dashboard/build.ts'
import type { Page } from 'playwright-core'
import { indexListPositions } from '../../service/signals/events/list-position-store.ts'
import { sessionCookieName } from '../../service/workspaces/users/session-token.ts'
import { TestClock } from '../fixtures/test-clock.ts'
import { addMember, createTestUser } from '../fixtures/users.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { startServiceProcess } from './child-processes.ts'
import { storeListedEvents, vacuumStore } from './listed-events.ts'
import { describeMachine } from './machine.ts'
import { formatAim, formatFigure, formatTable, median } from './report-format.ts'

interface DashboardFigures {
  machine: string
  /** An answer of the health check, for comparison, in milliseconds. */
  readiness: number
  sizes: DashboardSize[]
}

/** Seconds until the content of a page is there, one for each round. */
interface DashboardSize {
  events: number
  /** A browser without anything in its cache. */
  firstVisit: number[]
  /** The same page again: scripts and styles are in the cache. */
  laterVisit: number[]
  eventsPage: number[]
}

/** Opens the dashboard in Chromium, with trackers of different sizes in one store. */
export async function measureDashboard(
  { dashboard }: BenchPlan,
  closers: Closers,
): Promise<DashboardFigures> {
  await buildDashboard()
  const store = await openBenchStore()
  closers.push(store.close)
  const { database, dataDirectory } = store
  const machine = await describeMachine(database, dataDirectory)
  const trackers = []
  for (const events of dashboard.events) {
    const tracker = await store.newTracker()
    await storeListedEvents(database, tracker, { count: events })
    trackers.push({ ...tracker, events })
  }
  await indexListPositions({ database, signal: new AbortController().signal })
  await vacuumStore(database)
  const service = await startServiceProcess({ role: 'serve', dataDirectory })
  closers.push(service.stop)
  const chromium = await startChromium()
  closers.push(chromium.close)

  const people = { url: service.url, database, clock: new TestClock(new Date().toISOString()) }
  const user = await createTestUser(people)
  const cookie = {
    name: sessionCookieName(service.url),
    value: user.client.cookies.get(sessionCookieName(service.url)) ?? '',
    url: service.url,
  }
  const newPage = async () => {
    const page = await chromium.openPage()
    await page.context().addCookies([cookie])
    return page
  }
  const sizes: DashboardSize[] = []
  for (const { workspaceId, events } of trackers) {
    await addMember(people, { workspaceId, userId: user.userId, role: 'owner' })
    const size: DashboardSize = { events, firstVisit: [], laterVisit: [], eventsPage: [] }
    const overview = `${service.url}/w/${workspaceId}`
    for (let round = 0; round < dashboard.rounds; round += 1) {
      const page = await newPage()
      size.firstVisit.push(await visit(page, overview, OVERVIEW_CONTENT))
      size.laterVisit.push(await visit(page, overview, OVERVIEW_CONTENT))
      size.eventsPage.push(await visit(page, `${overview}/events`, EVENTS_CONTENT))
      await page.context().close()
    }
    sizes.push(size)
  }
  return { machine, readiness: await measureReadiness(service.url), sizes }
}

/** What a page shows once its data is there. */
const OVERVIEW_CONTENT = 'main section[aria-label="Flow"] > *'
const EVENTS_CONTENT = 'main tbody tr'

async function visit(page: Page, url: string, content: string): Promise<number> {
  const started = performance.now()
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator(content).first().waitFor()
  return (performance.now() - started) / 1_000
}

const READINESS_REQUESTS = 50

async function measureReadiness(url: string): Promise<number> {
  const milliseconds: number[] = []
  for (let request = 0; request < READINESS_REQUESTS; request += 1) {
    const started = performance.now()
    await (await fetch(`${url}/readyz`)).text()
    milliseconds.push(performance.now() - started)
  }
  return median(milliseconds)
}

/** Seconds until the overview is usable, up to a number of events. */
const AIMS = [
  { events: 100_000, seconds: 1 },
  { events: 10_000_000, seconds: 2 },
]

/** Medians for each size, with the slowest round beside them. */
export function reportDashboard({ machine, readiness, sizes }: DashboardFigures): BenchFindings {
  const rows = sizes.flatMap(({ events, firstVisit, laterVisit, eventsPage }) => {
    const limit = AIMS.find(aim => events <= aim.events)?.seconds
    const aim = limit === undefined ? undefined : ({ limit, direction: 'at most' } as const)
    const pages: [name: string, seconds: number[], isAimed: boolean][] = [
      ['overview, first visit', firstVisit, true],
      ['overview, later visit', laterVisit, true],
      ['events', eventsPage, false],
    ]
    return pages.map(([name, seconds, isAimed]) => [
      `${name}, of ${formatFigure(events, 0)} events`,
      formatFigure(median(seconds), 2),
      formatFigure(Math.max(...seconds), 2),
      formatAim(isAimed ? aim : undefined, median(seconds)),
    ])
  })
  const text = [
    machine,
    'seconds until the content of the page is there, in Chromium on the same machine',
    '',
    formatTable([['', 'median', 'slowest', ''], ...rows]),
    '',
    `/readyz, for comparison: ${formatFigure(readiness, 1)} ms`,
  ].join('\n')
  return { text, faults: [] }
}
