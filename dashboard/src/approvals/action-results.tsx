import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { DecisionRecord, QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Section } from '../components/facts.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { WorkspaceLink } from '../components/links.tsx'
import { Time } from '../components/time.tsx'
import { UntrustedName, UntrustedText } from '../components/untrusted.tsx'
import { useCanManage, useWorkspace } from '../layout/scope.ts'
import { useUndo } from './approval-api.ts'
import { decisionVerb, resultText } from './approval-texts.ts'
import { ActionRationale, ActionStatusBadge, ChangeHead, ChangeNotices } from './change-view.tsx'

interface ResultsProps {
  batch: QueuedBatch
  actions: readonly AgentAction[]
  records: readonly DecisionRecord[]
}

/** The actions of a proposal that were decided, each with its outcome, receipt and undo. */
export function ActionResults({ batch, actions, records }: ResultsProps) {
  return (
    <Section title="Results">
      <Stack gap="lg">
        {actions.map((action, position) => (
          <div key={action.id} className={position === 0 ? '' : 'divided'}>
            <ActionResult
              batch={batch}
              action={action}
              record={records.find(({ action_id }) => action_id === action.id) ?? null}
            />
          </div>
        ))}
      </Stack>
    </Section>
  )
}

interface ResultProps {
  batch: QueuedBatch
  action: AgentAction
  record: DecisionRecord | null
}

function ActionResult({ batch, action, record }: ResultProps) {
  const { id: workspace } = useWorkspace()
  const canRead = useCanManage()
  return (
    <Stack gap="xs">
      <ChangeHead action={action} batch={batch} />
      <Group gap="xs">
        <ActionStatusBadge status={action.status} />
        <Text size="sm">{resultText(action)}</Text>
      </Group>
      <ActionRationale action={action} batch={batch} />
      <ChangeNotices action={action} batch={batch} />
      {action.decided_at !== null && (
        <div>
          <Text size="sm" c="dimmed">
            {decisionVerb(action)}
            {record?.decided_by && (
              <>
                {' by '}
                <UntrustedName name={record.decided_by} />
              </>
            )}
            , <Time at={action.decided_at} />. Reason:
          </Text>
          <UntrustedText text={action.decision_reason ?? ''} />
        </div>
      )}
      {record?.receipt && (
        <details className="disclosure-plain">
          <summary>Receipt: log entry {record.receipt.chain_entry.sequence}</summary>
          <Text size="sm">
            SHA-256 of the receipt <span className="code">{record.receipt.document_sha256}</span>
          </Text>
          <Text size="sm">
            SHA-256 of the log entry <span className="code">{record.receipt.chain_entry.hash}</span>
          </Text>
        </details>
      )}
      <Group gap="md">
        <Undo batch={batch} action={action} undoneBy={record?.undone_by ?? null} />
        {canRead && (
          <WorkspaceLink
            workspace={workspace}
            path="audit"
            search={{ subject_type: 'action', subject_id: String(action.id) }}
            size="sm"
          >
            Action {action.id} in the log
          </WorkspaceLink>
        )}
      </Group>
    </Stack>
  )
}

interface UndoProps {
  batch: QueuedBatch
  action: AgentAction
  undoneBy: number | null
}

/** Proposes to set back a verified change, or leads to the proposal that does. */
function Undo({ batch, action, undoneBy }: UndoProps) {
  const { id: workspace } = useWorkspace()
  const mayPropose = useCanManage()
  const [isOpen, setOpen] = useState(false)
  if (action.status !== 'verified') return null
  if (undoneBy !== null) {
    return (
      <WorkspaceLink workspace={workspace} path={`approvals/${undoneBy}`} size="sm">
        Proposal {undoneBy} undoes this change
      </WorkspaceLink>
    )
  }
  if (!mayPropose) return null
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
        Propose to undo
      </Button>
      {isOpen && <UndoDialog batch={batch} action={action} onClose={() => setOpen(false)} />}
    </>
  )
}

const REASON_CHARACTERS_MAX = 1_000

function UndoDialog({
  batch,
  action,
  onClose,
}: Omit<UndoProps, 'undoneBy'> & { onClose: () => void }) {
  const { id: workspace } = useWorkspace()
  const navigate = useNavigate()
  const undo = useUndo(workspace, action.id)
  const [reason, setReason] = useState(`Undo action ${action.id} of proposal ${batch.id}.`)
  const propose = () =>
    undo.mutate(reason, {
      onSuccess: answer => {
        const to: string = `/w/${workspace}/approvals/${answer.batch.id}`
        void navigate({ to })
      },
    })
  return (
    <FormDialog
      title="Propose to undo this change?"
      submitLabel="Propose to undo"
      isPending={undo.isPending}
      error={undo.error}
      onSubmit={propose}
      onClose={onClose}
    >
      <Text size="sm">
        A new proposal in your name sets back what the change did. The policy and the approval of
        another person apply as to any proposal.
      </Text>
      <Textarea
        label="Reason"
        description="Stored permanently and cannot be erased: do not write about people."
        autosize
        minRows={2}
        maxLength={REASON_CHARACTERS_MAX}
        value={reason}
        onChange={({ currentTarget }) => setReason(currentTarget.value)}
      />
    </FormDialog>
  )
}
