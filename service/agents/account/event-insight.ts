import {
  type DeliveryExplanation,
  DeliveryExplanationInput,
  EXPLAINED_DAYS,
  type ExplainedEvent,
  type INSIGHT_STAGES,
} from '@signalbox/contract/agents/insight.ts'
import { ANY } from '@signalbox/contract/agents/tool-inputs.ts'
import { type Stored, storedText } from '@signalbox/contract/closed-set.ts'
import type { DeliveryReason, StageReason } from '@signalbox/contract/reasons.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { countWaitingByReason } from '../../signals/delivery/backlog-store.ts'
import { findDeliveries } from '../../signals/delivery/delivery-store.ts'
import { findEventsById } from '../../signals/events/event-store.ts'
import { readStageCounts } from '../../signals/events/stage-count-store.ts'
import { countRefusalsByHour } from '../../signals/refusals/refusal-list-store.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { findBoundTrackers } from './destination-signal-store.ts'
import { explainReason } from './reason-texts.ts'
import { explainEvent } from './search-agent-events.ts'

type InsightContext = Pick<ProposalContext, 'database' | 'now'>
type StageName = (typeof INSIGHT_STAGES)[number]

const explanationValidator = new Validator(DeliveryExplanationInput, { textMembers: ['event_id'] })

/**
 * explain_delivery: what happened to the events of the trackers that deliver for the ad account of
 * the credential, by stage and reason, compared with the period before. No personal data: counts,
 * codes and our own sentences. Throws a 422 refusal for invalid arguments and a 403 without the
 * permission.
 */
export async function explainDeliveries(
  { database, now }: InsightContext,
  principal: AgentPrincipal,
  input: unknown,
): Promise<DeliveryExplanation> {
  requirePermission(principal, 'ad-account.read')
  const { days = EXPLAINED_DAYS, event_id: eventId = '' } = explanationValidator.validate(input)
  const at = now()
  const thisHour = Math.floor(at.getTime() / HOUR_MILLISECONDS) * HOUR_MILLISECONDS
  const from = new Date(thisHour - days * DAY_MILLISECONDS)
  const previous = new Date(from.getTime() - days * DAY_MILLISECONDS)
  const trackerIds = await findBoundTrackers(database, principal)
  const counts: StageCount[] = []
  for (const trackerId of trackerIds) {
    counts.push(...(await readCounts(database, trackerId, { from, previous })))
  }
  const stages = STAGES.map(({ stage, unit }) => summarizeStage({ stage, unit }, counts))
  const wanted = eventId === ANY ? '' : eventId
  return {
    ad_account_id: principal.adAccountId,
    since: from.toISOString(),
    until: at.toISOString(),
    findings: trackerIds.length === 0 ? [NO_TRACKER] : describeChanges(stages),
    stages,
    event: wanted === '' ? null : await findExplainedEvent(database, trackerIds, wanted),
    explanation: EXPLANATION,
  }
}

const NO_TRACKER =
  'No tracker of this workspace delivers for this ad account: call get_signal_health for what ' +
  'to do.'

const EXPLANATION =
  'refused requests were not stored. held deliveries are not sent, mostly for consent. A tracker ' +
  'with several destinations has a delivery for each, also for other ad accounts. What is held ' +
  'or failed is missing at the platform, so that it reports fewer purchases than there were.'

const STAGES: readonly { stage: StageName; unit: 'requests' | 'events' | 'deliveries' }[] = [
  { stage: 'refused', unit: 'requests' },
  { stage: 'accepted', unit: 'events' },
  { stage: 'held', unit: 'deliveries' },
  { stage: 'waiting', unit: 'deliveries' },
  { stage: 'failed', unit: 'deliveries' },
  { stage: 'platform_accepted', unit: 'deliveries' },
]

interface StageCount {
  stage: StageName
  reason: Stored<StageReason | DeliveryReason> | null
  count: number
  /** Null for what is counted as of now. */
  isPrevious: boolean | null
}

async function readCounts(
  database: Database,
  trackerId: string,
  { from, previous }: { from: Date; previous: Date },
): Promise<StageCount[]> {
  const range = { trackerId, from: previous }
  const [counted, refused, waiting] = await Promise.all([
    readStageCounts(database, range),
    countRefusalsByHour(database, range),
    countWaitingByReason(database, trackerId),
  ])
  return [
    ...counted.flatMap(({ stage, reason, count, hour }) =>
      typeof stage === 'string' ? [{ stage, reason, count, isPrevious: hour < from }] : [],
    ),
    ...refused.map(({ reason, count, hour }) => ({
      stage: 'refused' as const,
      reason,
      count,
      isPrevious: hour < from,
    })),
    ...waiting.reasons.map(({ reason, isPaused, count }) => ({
      stage: 'waiting' as const,
      reason: isPaused ? ('destination_paused' as const) : reason,
      count,
      isPrevious: null,
    })),
  ]
}

const REASONS_MAX = 10

type Stage = DeliveryExplanation['stages'][number]

function summarizeStage(
  { stage, unit }: { stage: StageName; unit: Stage['unit'] },
  counts: readonly StageCount[],
): Stage {
  const own = counts.filter(each => each.stage === stage)
  const isNow = stage === 'waiting'
  const groups = Map.groupBy(own, ({ reason }) => (reason === null ? '' : storedText(reason)))
  const reasons = [...groups].map(([code, ofReason]) => ({
    reason: code,
    explanation: explainReason(ofReason[0]?.reason ?? null),
    count: sum(ofReason, false),
    previous_count: isNow ? null : sum(ofReason, true),
  }))
  return {
    stage,
    unit,
    count: sum(own, false),
    previous_count: isNow ? null : sum(own, true),
    reasons: reasons
      .filter(({ reason }) => reason !== '')
      .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1))
      .slice(0, REASONS_MAX),
  }
}

function sum(counts: readonly StageCount[], isPrevious: boolean): number {
  return counts
    .filter(count => (count.isPrevious ?? false) === isPrevious)
    .reduce((total, { count }) => total + count, 0)
}

const FINDINGS_MAX = 8
/** Smaller changes are noise. */
const CHANGE_PERCENT_MIN = 10

/** Sentences about what changed; codes and numbers only. */
function describeChanges(stages: readonly Stage[]): string[] {
  const changes = stages.flatMap(({ stage, unit, reasons, ...own }) => [
    { name: stage, unit, ...own },
    ...reasons.map(({ reason, ...counts }) => ({ name: `${stage} (${reason})`, unit, ...counts })),
  ])
  return changes
    .flatMap(({ name, unit, count, previous_count: before }) => {
      if (before === null) return []
      const size = Math.abs(count - before)
      if (size === 0 || size * 100 < Math.max(before, 1) * CHANGE_PERCENT_MIN) return []
      const verb = count > before ? 'rose' : 'fell'
      return [{ size, text: `${name}: ${unit} ${verb} from ${before} to ${count}.` }]
    })
    .sort((a, b) => b.size - a.size)
    .slice(0, FINDINGS_MAX)
    .map(({ text }) => text)
}

async function findExplainedEvent(
  database: Database,
  trackerIds: readonly string[],
  eventId: string,
): Promise<ExplainedEvent | null> {
  for (const trackerId of trackerIds) {
    const [event] = await findEventsById(database, trackerId, [eventId])
    if (event) return explainEvent(event, await findDeliveries(database, trackerId, [event]))
  }
  return null
}
