import { Text, TextInput } from '@mantine/core'
import type { LiftResult } from '@signalbox/contract/withdrawals.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { FormDialog, ResultDialog } from '../components/form-dialog.tsx'
import { formatCount, formatNumber } from '../components/format-count.ts'
import { liftWithdrawals, type TrackerParams, withdrawalsKey } from './privacy-api.ts'

interface LiftDialogProps {
  params: TrackerParams
  ids: readonly string[]
  onClose: (isLifted: boolean) => void
}

const REASON_MAX = 500

/** Asks for the reason, lifts, and says what is sent now. */
export function LiftDialog({ params, ids, onClose }: LiftDialogProps) {
  const [reason, setReason] = useState('')
  const client = useQueryClient()
  const lift = useMutation({
    mutationFn: () => liftWithdrawals(params, { withdrawal_ids: [...ids], reason: reason.trim() }),
    onSettled: () => client.invalidateQueries({ queryKey: withdrawalsKey(params) }),
  })
  const { data: result } = lift
  if (result) {
    return (
      <ResultDialog title="Lifted" onClose={() => onClose(true)}>
        <Text>{describeResult(result)}</Text>
      </ResultDialog>
    )
  }
  return (
    <FormDialog
      title={`Lift ${formatCount(ids.length, 'withdrawal')}?`}
      submitLabel="Lift"
      canSubmit={reason.trim() !== ''}
      isPending={lift.isPending}
      error={lift.error}
      onSubmit={() => lift.mutate()}
      onClose={() => onClose(false)}
    >
      <Text size="sm">
        Lift only what your visitors did not send. Their events are sent again, also those that
        waited. Who lifted stands in the audit log.
      </Text>
      <TextInput
        label="Reason"
        description="Without names, addresses and numbers of people."
        value={reason}
        maxLength={REASON_MAX}
        autoComplete="off"
        data-autofocus
        onChange={event => setReason(event.currentTarget.value)}
      />
    </FormDialog>
  )
}

function describeResult(result: LiftResult): string {
  const parts = [
    `${formatCount(result.lifted, 'withdrawal')} lifted.`,
    result.queued === 0
      ? 'No delivery was waiting for that.'
      : result.queued === 1
        ? '1 delivery is sent now.'
        : `${formatNumber(result.queued)} deliveries are sent now.`,
  ]
  if (result.expired > 0) parts.push(`${result.expired} too old for the platform.`)
  if (result.still_withheld > 0) parts.push(`${result.still_withheld} withheld for another reason.`)
  if (result.capped) parts.push('More were stopped: lift again to queue the rest.')
  return parts.join(' ')
}
