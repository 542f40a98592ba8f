import { Stack, Text, Title } from '@mantine/core'
import type { StageSummary } from '@signalbox/contract/session/overview.ts'
import { formatNumber } from '../components/format-count.ts'
import { WorkspaceLink } from '../components/links.tsx'
import { formatAbsolute, useTimeZone } from '../components/time.tsx'
import { HourBars } from './hour-bars.tsx'
import { describeReason, STAGE_TEXTS } from './stage-texts.ts'

const REASONS_SHOWN = 3

interface StageCardProps {
  workspace: string
  stage: StageSummary
}

/** One stage: how many in which time, why, and the way to its list. */
export function StageCard({ workspace, stage }: StageCardProps) {
  const { title, description, path, search, link } = STAGE_TEXTS[stage.stage]
  const { count, is_minimum, reasons, unit } = stage
  const others = reasons.slice(REASONS_SHOWN).reduce((sum, reason) => sum + reason.count, 0)
  const shown = count === null ? 'Not known yet' : formatNumber(count)
  // Lists of events begin with the window, as the count does; what waits now may be older.
  const window = path === 'events' && stage.from !== null ? { from: stage.from } : {}
  return (
    <Stack component="section" className="surface" p="md" gap="xs" aria-label={title}>
      <div>
        <Title order={2} size="h5">
          {title}
        </Title>
        <Text size="sm" c="dimmed">
          {description}
        </Text>
      </div>
      <div>
        <Text
          component="span"
          size={count === null ? 'lg' : '1.75rem'}
          fw={650}
          lh={1.2}
          data-stage={stage.stage}
        >
          {is_minimum ? `${shown}+` : shown}
        </Text>{' '}
        {count !== null && (
          <Text component="span" c="dimmed">
            {unit}
          </Text>
        )}
        <Text size="xs" c="dimmed">
          <Window stage={stage} />
        </Text>
      </div>
      <HourBars stage={stage} />
      {reasons.length > 0 && (
        <ul className="reasons">
          {reasons.slice(0, REASONS_SHOWN).map(({ reason, count: ofReason }) => (
            <li key={reason}>
              <span>{describeReason(reason)}</span> <span>{formatNumber(ofReason)}</span>
            </li>
          ))}
          {others > 0 && (
            <li>
              <span>Other reasons</span> <span>{formatNumber(others)}</span>
            </li>
          )}
        </ul>
      )}
      <WorkspaceLink
        workspace={workspace}
        path={path}
        search={{ ...search, ...window }}
        size="sm"
        mt="auto"
      >
        {link}
      </WorkspaceLink>
    </Stack>
  )
}

/** The time that a count is about, which differs from stage to stage. */
function Window({ stage: { from, to, stage } }: { stage: StageSummary }) {
  const [zone] = useTimeZone()
  if (from === null) return 'Now'
  if (stage === 'platform_counted') {
    const lastDay = new Date(new Date(to).getTime() - 1).toISOString().slice(0, 10)
    const firstDay = from.slice(0, 10)
    return firstDay === lastDay ? `On ${firstDay} UTC` : `From ${firstDay} to ${lastDay} UTC`
  }
  return `Since ${formatAbsolute(new Date(from), zone)}`
}
