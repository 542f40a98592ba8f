import { Alert, Button, Group, List, Text, Textarea } from '@mantine/core'
import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import { useState } from 'react'
import { ApiError } from '../api/client.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { escapeInvisibleLine } from '../components/visible-text.ts'
import { useCanManage } from '../layout/scope.ts'
import { useDecision } from './approval-api.ts'
import { APPROVAL_EFFECTS } from './approval-texts.ts'
import { ChangeLine } from './change-view.tsx'

export type Decision = 'approve' | 'reject'

/** A choice of the person, with the values that they saw when they made it. */
export interface Choice {
  decision: Decision
  batch: QueuedBatch
  actions: readonly AgentAction[]
}

interface DecisionBarProps {
  batch: QueuedBatch
  chosen: readonly AgentAction[]
  onChoose: (choice: Choice) => void
}

/**
 * Stays at the bottom of the screen. Who may not approve may still reject, which is always safe.
 */
export function DecisionBar({ batch, chosen, onChoose }: DecisionBarProps) {
  const mayReject = useCanManage()
  const isChosen = chosen.length > 0
  const choose = (decision: Decision) => onChoose({ decision, batch, actions: chosen })
  return (
    <section className="decision-bar" aria-label="Decision">
      {batch.may_not_reason !== null && (
        <Text size="sm" id="may-not">
          {batch.may_not_reason}
        </Text>
      )}
      {!isChosen && <Text size="sm">Choose at least one change.</Text>}
      <Group gap="sm" wrap="nowrap" grow>
        <Button
          size="md"
          data-decision="approve"
          disabled={!batch.may_decide || !isChosen}
          aria-describedby={batch.may_decide ? undefined : 'may-not'}
          onClick={() => choose('approve')}
        >
          Approve
        </Button>
        <Button
          size="md"
          variant="default"
          data-decision="reject"
          disabled={!mayReject || !isChosen}
          onClick={() => choose('reject')}
        >
          Reject
        </Button>
      </Group>
    </section>
  )
}

interface DecisionDialogProps {
  workspace: string
  choice: Choice
  policy: ActionPolicy
  onDone: (decision: Decision) => void
  onClose: () => void
}

const REASON_CHARACTERS_MAX = 1_000

/** Asks for the reason after the choice, and names what is decided and which limits it exceeds. */
export function DecisionDialog({ workspace, choice, policy, ...props }: DecisionDialogProps) {
  const { decision, batch, actions } = choice
  const [reason, setReason] = useState('')
  const [isAsked, setAsked] = useState(false)
  const decide = useDecision(workspace, batch.id)
  const isApproval = decision === 'approve'
  const ids = actions.map(({ id }) => id)
  const limits = isApproval ? limitsOf(batch, ids) : []
  const invalid = reasonError(reason)
  const submit = () => {
    setAsked(true)
    if (invalid !== null) return
    const accepted_limits = [...new Set(limits.map(({ code }) => code))]
    decide.mutate(
      { decision, reason, action_ids: ids, accepted_limits },
      { onSuccess: () => props.onDone(decision) },
    )
  }
  const verb = isApproval ? 'Approve' : 'Reject'
  const isConflict = decide.error instanceof ApiError && decide.error.status === 409
  return (
    <FormDialog
      title={`${verb} ${actions.length === 1 ? 'this change' : `${actions.length} changes`}?`}
      submitLabel={verb}
      canSubmit={!isConflict}
      isPending={decide.isPending}
      error={isConflict ? null : decide.error}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <List size="sm">
        {actions.map(action => (
          <List.Item key={action.id}>
            <ChangeLine action={action} currency={batch.currency} />
          </List.Item>
        ))}
      </List>
      {limits.length > 0 && (
        <Alert color="yellow" variant="light" title="You accept that this exceeds limits">
          <List size="sm">
            {limits.map(({ code, message }) => (
              <List.Item key={code + message}>{escapeInvisibleLine(message)}</List.Item>
            ))}
          </List>
        </Alert>
      )}
      {isApproval && <Text size="sm">{APPROVAL_EFFECTS[policy.execution_mode]}</Text>}
      <Textarea
        label="Your reason"
        description="Stored permanently and cannot be erased: do not write about people."
        required
        autosize
        minRows={2}
        maxRows={8}
        data-autofocus
        value={reason}
        error={isAsked ? invalid : null}
        onChange={({ currentTarget }) => setReason(currentTarget.value)}
      />
      {isConflict && (
        <Alert role="alert" color="red" variant="light" title="Your decision was not saved">
          {decide.error?.message} Close this, and compare what the page shows now.
        </Alert>
      )}
    </FormDialog>
  )
}

function reasonError(reason: string): string | null {
  if (reason.trim() === '') return 'Enter a reason. It is stored with the decision.'
  return [...reason].length > REASON_CHARACTERS_MAX
    ? `The reason is too long: write at most ${REASON_CHARACTERS_MAX} characters.`
    : null
}

/** The limits that the chosen changes exceed, as the page showed them, with their sentences. */
function limitsOf({ evaluations }: QueuedBatch, actionIds: readonly number[]) {
  return evaluations
    .filter(({ action_id }) => actionIds.includes(action_id))
    .flatMap(({ exceeded_limits, policy_reasons }) =>
      exceeded_limits.map(code => ({
        code,
        message: policy_reasons.find(reason => reason.code === code)?.message ?? code,
      })),
    )
}
