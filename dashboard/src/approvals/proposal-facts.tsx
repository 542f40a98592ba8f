import { Stack, Text } from '@mantine/core'
import { formatAmount, limitsForCurrency } from '@signalbox/contract/agents/amounts.ts'
import type { QueuedBatch, QueuedBatchAnswer } from '@signalbox/contract/agents/approvals.ts'
import type { EvidenceProvenance } from '@signalbox/contract/agents/evidence.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import { DetailList } from '../audit/entry-details.tsx'
import { auditActionLabel } from '../audit/entry-texts.ts'
import { Facts, Section } from '../components/facts.tsx'
import { Time } from '../components/time.tsx'
import { UntrustedName } from '../components/untrusted.tsx'
import { escapeInvisibleLine } from '../components/visible-text.ts'
import { PROPOSER_LABELS } from './approval-texts.ts'
import { Notice } from './change-view.tsx'

/** Who proposed it, for which account, and when. */
export function ProposerFacts({ batch }: { batch: QueuedBatch }) {
  const { proposed_by, responsible, ad_account_name, created_at } = batch
  const { type, id, name = `ID ${id}` } = proposed_by
  const isPerson = type === 'person'
  return (
    <Section title="Proposal">
      <Facts
        facts={[
          [
            'Proposed by',
            <span key="by">
              <UntrustedName name={isPerson ? responsible : name} /> ({PROPOSER_LABELS[type]})
            </span>,
          ],
          ['Responsible', <UntrustedName key="for" name={responsible} />],
          ['Ad account', <UntrustedName key="account" name={ad_account_name} />],
          ['Proposed', <Time key="at" at={created_at} />],
        ]}
      />
    </Section>
  )
}

type EvidenceRecord = EvidenceProvenance['evidence'][number]

/**
 * The evidence that the agent cites, with the values of the tools' answers. Warns if the agent
 * chose the entities, never used a source, or cites a field that no answer has.
 */
export function EvidenceView({ batch }: { batch: QueuedBatch }) {
  const { target_source, evidence } = batch.evidence_provenance
  const hasUnknownField = evidence.some(({ fields }) => fields.some(isUnknown))
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600} component="h3">
        Evidence of the agent
      </Text>
      {target_source === 'human_supplied' ? (
        <Text size="sm">The agent claims that a person named the entities to change.</Text>
      ) : (
        <Notice>The agent chose the entities to change by itself: no person named them.</Notice>
      )}
      <ul className="plain-list">
        {evidence.map(record => (
          <EvidenceItem key={record.source_tool} record={record} />
        ))}
      </ul>
      {evidence.some(({ tool_used_at }) => tool_used_at === null) && (
        <Notice>The agent cites a source that it never used: do not rely on its figures.</Notice>
      )}
      {hasUnknownField && (
        <Notice>
          The agent cites a field that is in none of the recent answers of its source: do not rely
          on it.
        </Notice>
      )}
    </Stack>
  )
}

function isUnknown({ is_found }: EvidenceRecord['fields'][number]): boolean {
  return is_found === false
}

function EvidenceItem({
  record: { source_tool, tool_used_at, fields },
}: {
  record: EvidenceRecord
}) {
  return (
    <li>
      <span className="code">{escapeInvisibleLine(source_tool)}</span>
      {tool_used_at === null ? (
        ', which this agent never used'
      ) : (
        <>
          , used <Time at={tool_used_at} format="relative" />
        </>
      )}
      {fields.map(field => (
        <span key={field.path} className="evidence-field">
          <bdi>{escapeInvisibleLine(field.path)}</bdi>:{' '}
          <bdi>
            {field.value === null
              ? (FIELD_TEXTS[String(field.is_found)] ?? '')
              : escapeInvisibleLine(field.value)}
          </bdi>
        </span>
      ))}
    </li>
  )
}

const FIELD_TEXTS: Record<string, string> = { null: 'not checked', false: 'not in the answer' }

/** The totals of the account's day, week and month, beside their limits. */
export function DayTotals({ batch, policy }: { batch: QueuedBatch; policy: ActionPolicy }) {
  const { today, currency } = batch
  const limits = limitsForCurrency(policy.limits, currency)
  const { actions_per_day_max: countMax } = limits
  const amount = (minor: number, max: number | null) => {
    const limit = max === null ? 'no limit' : `limit ${formatAmount(max, currency)}`
    return `${formatAmount(minor, currency)} (${limit})`
  }
  return (
    <Section title="Today in this ad account">
      <Facts
        facts={[
          [
            'Changed and resumed daily budgets',
            amount(today.changed_minor, limits.daily_total_minor_max),
          ],
          ['In the last 7 days', amount(today.changed_week_minor, limits.weekly_total_minor_max)],
          [
            'In the last 30 days',
            amount(today.changed_month_minor, limits.monthly_total_minor_max),
          ],
          [
            'Actions',
            `${today.action_count} (${countMax === null ? 'no limit' : `limit ${countMax}`})`,
          ],
        ]}
      />
    </Section>
  )
}

/** Changes of roles and of the policy that came before the decision. */
export function RecentChanges({ entries }: { entries: QueuedBatchAnswer['recent_changes'] }) {
  if (entries.length === 0) return null
  return (
    <Notice>
      Roles or the policy changed in the last 72 hours:
      <ul className="plain-list">
        {entries.map(entry => (
          <li key={entry.sequence}>
            <details className="disclosure-plain">
              <summary>
                {auditActionLabel(entry.action)}, <Time at={entry.at} format="absolute" />
                {entry.actor.name !== null && (
                  <>
                    , by <UntrustedName name={entry.actor.name} />
                  </>
                )}
              </summary>
              <DetailList details={entry.details} />
            </details>
          </li>
        ))}
      </ul>
    </Notice>
  )
}
