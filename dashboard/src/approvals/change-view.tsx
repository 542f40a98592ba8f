import { Alert, Badge, type MantineColor, Text, Title } from '@mantine/core'
import type { ActionStatus, AgentAction } from '@signalbox/contract/agents/actions.ts'
import { formatAmount } from '@signalbox/contract/agents/amounts.ts'
import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import type { ReactNode } from 'react'
import { WorkspaceLink } from '../components/links.tsx'
import { UntrustedName, UntrustedText } from '../components/untrusted.tsx'
import { escapeInvisibleLine } from '../components/visible-text.ts'
import { useWorkspace } from '../layout/scope.ts'
import { ACTION_STATUS_LABELS, ACTION_TYPE_LABELS, ENTITY_TYPE_LABELS } from './approval-texts.ts'
import { buildChangeRows } from './change-rows.ts'

/** The change and its entity on one line, for lists. */
export function ChangeLine({ action, currency }: { action: AgentAction; currency: string }) {
  const { type, target_entity, before } = action
  return (
    <span>
      {ACTION_TYPE_LABELS[type]}: {ENTITY_TYPE_LABELS[target_entity.type]}{' '}
      <UntrustedName name={before?.name ?? target_entity.name ?? target_entity.id} />,{' '}
      {buildChangeRows(action, currency).map((row, position) => (
        <span key={row.label} className="nowrap">
          {position > 0 && ', '}
          {row.before} → <strong>{row.proposed}</strong> {row.change}
        </span>
      ))}
    </span>
  )
}

interface ChangeProps {
  action: AgentAction
  batch: QueuedBatch
}

/** What is changed, from what, to what: the first thing that a person reads. */
export function ChangeHead({ action, batch }: ChangeProps) {
  const { type, target_entity, before } = action
  const name = before?.name ?? target_entity.name ?? null
  const kind = ENTITY_TYPE_LABELS[target_entity.type]
  return (
    <div>
      <Title order={2} size="h4">
        {ACTION_TYPE_LABELS[type]}
      </Title>
      <Text size="sm">
        {kind} {name !== null && <UntrustedName name={name} />}{' '}
        <span className="quiet">{target_entity.id}</span>
      </Text>
      <dl className="change-rows">
        {buildChangeRows(action, batch.currency).map(row => (
          <div key={row.label}>
            <dt>{row.label}</dt>
            <dd>
              <span className="from">{row.before}</span> <span aria-hidden="true">→</span>
              <span className="visually-hidden"> to </span> <strong>{row.proposed}</strong>{' '}
              {row.change && <span className="nowrap quiet">{row.change}</span>}
              {row.after !== null && <span className="actual">Actual: {row.after}</span>}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

/** The agent's rationale for one action; agents often repeat that of the proposal. */
export function ActionRationale({ action, batch }: ChangeProps) {
  return action.rationale === batch.rationale ? null : <UntrustedText text={action.rationale} />
}

/** What the person must know about the change besides its values. */
export function ChangeNotices({ action, batch }: ChangeProps) {
  const { target_entity, before, status, id, type } = action
  const isPending = status === 'pending'
  const evaluation = batch.evaluations.find(({ action_id }) => action_id === id)
  const reasons = evaluation?.policy_reasons ?? action.policy_reasons
  const shown = reasons.filter(({ code }) => !MODE_REASONS.includes(code))
  const motion = evaluation?.policy_evidence.set_in_motion_minor ?? null
  return (
    <>
      {isPending && batch.stale_action_ids.includes(id) && (
        <Notice>
          The entity was changed elsewhere after the proposal, so the values above are out of date.
          If you approve this change, it is rejected and not executed.
        </Notice>
      )}
      {before === null && (
        <Notice>
          The ad account has no entity with this ID. The name is the one that the agent uses.
        </Notice>
      )}
      {before !== null && isOtherName(target_entity.name, before.name) && (
        <Notice>
          The agent calls it <UntrustedName name={target_entity.name ?? ''} />. Its name on the
          platform is <UntrustedName name={before.name} />.
        </Notice>
      )}
      {isPending && type === 'resume' && evaluation && (
        <Text size="sm">
          Daily budgets that it sets in motion:{' '}
          <strong>{motion === null ? 'unknown' : formatAmount(motion, batch.currency)}</strong>
        </Text>
      )}
      {isPending && <OtherPending action={action} batch={batch} />}
      {shown.length > 0 && (
        <ul className="plain-list quiet" aria-label="Policy reasons">
          {shown.map(({ code, message }) => (
            <li key={code + message}>{escapeInvisibleLine(message)}</li>
          ))}
        </ul>
      )}
    </>
  )
}

/** The mode is the same for all actions and is shown once, beside the buttons. */
const MODE_REASONS = ['suggest_only', 'ask']

function isOtherName(given: string | null | undefined, actual: string): boolean {
  return Boolean(given) && escapeInvisibleLine(given ?? '') !== escapeInvisibleLine(actual)
}

function OtherPending({ action, batch }: ChangeProps) {
  const { id: workspace } = useWorkspace()
  const { type, id } = action.target_entity
  const others = batch.other_pending_actions.filter(
    ({ target_entity }) => target_entity.type === type && target_entity.id === id,
  )
  if (others.length === 0) return null
  const amountOf = ({ change_minor }: QueuedBatch['other_pending_actions'][number]) =>
    formatAmount(change_minor, batch.currency)
  return (
    <Notice>
      Also pending for this entity:
      <ul className="plain-list">
        {others.map(other => (
          <li key={other.action_id}>
            <WorkspaceLink
              workspace={workspace}
              path={`approvals/${other.batch_id}`}
              underline="always"
            >
              Proposal {other.batch_id}
            </WorkspaceLink>
            : {ACTION_TYPE_LABELS[other.type]}, {amountOf(other)} of the day
          </li>
        ))}
      </ul>
    </Notice>
  )
}

/** A warning that belongs to what is above it. */
export function Notice({ children }: { children: ReactNode }) {
  return (
    <Alert color="yellow" variant="light" p="xs">
      {children}
    </Alert>
  )
}

const STATUS_COLORS: Partial<Record<ActionStatus, MantineColor>> = {
  pending: 'yellow',
  executing: 'yellow',
  executed_pending_verification: 'yellow',
  verified: 'brand',
  failed: 'red',
  execution_uncertain: 'red',
  rolled_back: 'yellow',
}

/** The status of an action. */
export function ActionStatusBadge({ status }: { status: ActionStatus }) {
  const color = STATUS_COLORS[status] ?? 'gray'
  return (
    <Badge variant="light" color={color} tt="none" fw={600} radius="sm">
      {ACTION_STATUS_LABELS[status]}
    </Badge>
  )
}
