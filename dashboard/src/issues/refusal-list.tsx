import { Anchor, Text } from '@mantine/core'
import { REFUSAL_RULES } from '@signalbox/contract/refusal-rules.ts'
import type { RefusalSummary } from '@signalbox/contract/session/issues.ts'
import { Copy } from '../components/copy.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { formatNumber } from '../components/format-count.ts'
import { Time } from '../components/time.tsx'
import { IssueFrame, IssueGroups, ValueAtStake } from './issue-frame.tsx'

/** Why events were refused, with what the API said, what to change and the way to the log. */
export function RefusalList({ refusals }: { refusals: readonly RefusalSummary[] }) {
  return (
    <IssueGroups
      issues={refusals}
      render={refusal => (
        <Refusal key={`${refusal.id} ${refusal.first_seen_at}`} refusal={refusal} />
      )}
    />
  )
}

function Refusal({ refusal }: { refusal: RefusalSummary }) {
  const { status, field, rule, errors, message, samples, values } = refusal
  const { title, advice } = REFUSAL_RULES[rule]
  return (
    <IssueFrame
      issue={refusal}
      title={title}
      code={field === null ? `Status ${status}` : `Status ${status}, ${field}`}
      summary={`${errors === 1 ? 'Once' : `${formatNumber(errors)} times`}.`}
    >
      {message && (
        <blockquote className="api-said">
          <Text size="sm">{message}</Text>
        </blockquote>
      )}
      <Text maw="46rem">
        {advice}{' '}
        <Anchor href={`/docs/refusals#${rule}`} inherit underline="always">
          Read more
        </Anchor>
      </Text>
      <ValueAtStake values={values} />
      {samples.length > 0 ? (
        <>
          <DataTable
            label="Latest requests"
            columns={COLUMNS}
            rows={samples}
            rowKey={({ request_id, form }) => `${request_id} ${form}`}
          />
          {samples.some(({ form }) => form !== '') && (
            <Text size="sm" c="dimmed">
              The form has an a for each letter and a 9 for each digit. The value is not kept.
            </Text>
          )}
        </>
      ) : (
        <Text size="sm">
          Last Request-Id <RequestId id={refusal.last_request_id} />
        </Text>
      )}
    </IssueFrame>
  )
}

type Sample = RefusalSummary['samples'][number]

const COLUMNS: readonly Column<Sample>[] = [
  {
    key: 'at',
    header: 'Refused',
    wrap: 'whole',
    cell: ({ at }) => <Time at={at} format="absolute" />,
  },
  {
    key: 'form',
    header: 'Form of the value',
    wrap: 'whole',
    cell: ({ form }) => (form === '' ? '–' : <span className="code">{form}</span>),
  },
  {
    key: 'request',
    header: 'Request-Id',
    wrap: 'free',
    from: 'sm',
    cell: ({ request_id }) => <RequestId id={request_id} />,
  },
]

function RequestId({ id }: { id: string }) {
  return (
    <>
      <span className="code">{id}</span> <Copy text={id} label="Copy" />
    </>
  )
}
