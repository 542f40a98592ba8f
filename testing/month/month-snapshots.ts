import { isDeepStrictEqual } from 'node:util'
import { SCORED_EVENT_NAME } from '../../service/reports/match-quality.ts'
import { type TrueQuality, trueQualities } from './month-quality.ts'
import { dayOf, type KeptAlert, type MonthStory, type ToldShop } from './month-story.ts'

/** Where the match quality differs from what truly arrived, a line each. */
export function wrongSnapshots(story: MonthStory): string[] {
  return story.shops.flatMap(shop => {
    const truths = trueQualities(story, shop)
    return [...differingSnapshots(story, shop, truths), ...differingAlerts(story, shop, truths)]
  })
}

function differingSnapshots(
  { snapshots }: MonthStory,
  { datasetId }: ToldShop,
  truths: readonly TrueQuality[],
): string[] {
  // The interface shows the newest first.
  const shown = (snapshots.get(datasetId) ?? []).toReversed().map(shownQuality)
  const dates = new Set([...shown, ...truths].map(({ date }) => date))
  return [...dates].flatMap(date => {
    const kept = shown.filter(snapshot => snapshot.date === date)
    const truth = truths.filter(snapshot => snapshot.date === date)
    if (isDeepStrictEqual(kept, truth)) return []
    return [`quality of ${date}: ${JSON.stringify(kept)}, truly ${JSON.stringify(truth)}`]
  })
}

// biome-ignore lint/suspicious/noExplicitAny: a snapshot as the interface shows it
function shownQuality(snapshot: any): TrueQuality {
  const { measured_at, score, week_over_week_change, alerted, platform_response } = snapshot
  const { keys } = platform_response.signalbox.coverage[0]
  return {
    date: dayOf(new Date(measured_at)),
    measuredAt: measured_at,
    score,
    change: week_over_week_change,
    alerted,
    coverage: Object.fromEntries(Object.entries<number>(keys).sort()),
  }
}

/** Raised at the first fall of a point within a week, resolved when no week falls so much. */
function differingAlerts(
  { alerts }: MonthStory,
  { datasetId }: ToldShop,
  truths: readonly TrueQuality[],
): string[] {
  const expected: Pick<KeptAlert, 'kind' | 'raisedAt' | 'resolvedAt'>[] = []
  for (const { change, measuredAt } of truths) {
    const open = expected.find(({ resolvedAt }) => resolvedAt === null)
    const at = new Date(measuredAt)
    const hasFallen = change !== null && change <= -1
    if (hasFallen && !open) expected.push({ kind: 'emq_fell', raisedAt: at, resolvedAt: null })
    if (change !== null && !hasFallen && open) open.resolvedAt = at
  }
  const kept = alerts
    .filter(alert => alert.datasetId === datasetId && alert.kind.startsWith('emq_'))
    .map(({ kind, raisedAt, resolvedAt }) => ({ kind, raisedAt, resolvedAt }))
  if (isDeepStrictEqual(kept, expected)) return []
  return [`alerts of ${datasetId}: ${JSON.stringify(kept)}, truly ${JSON.stringify(expected)}`]
}

/** Which key to send more of, as the snapshot of a day says for purchases. */
export function advisedKeys({ snapshots, shops }: MonthStory, date: string): string[] {
  const ofShop = snapshots.get(shops[0]?.datasetId ?? '') ?? []
  const snapshot = ofShop.find(({ measured_at }) => measured_at.startsWith(date))
  const advice: { event_name: string; key: string }[] = snapshot.platform_response.signalbox.advice
  return advice.filter(({ event_name }) => event_name === SCORED_EVENT_NAME).map(({ key }) => key)
}
