import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import type { PolicyStateAnswer } from '@signalbox/contract/agents/policy.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ConfirmableError } from '../components/confirm-identity.tsx'
import { Section } from '../components/facts.tsx'
import { Time } from '../components/time.tsx'
import { UntrustedName } from '../components/untrusted.tsx'
import { useCan, useWorkspace } from '../layout/scope.ts'
import { cancelPolicy, confirmPolicy, policyQuery, usePolicyChange } from './policy-api.ts'
import { findDifferences } from './policy-facts.ts'

/**
 * The policy that waits: what it would change, from when, who saved it, and for owners how to end
 * the wait. Nothing if none waits.
 */
export function WaitingPolicy() {
  const { id: workspace } = useWorkspace()
  const { data: state } = useQuery(policyQuery(workspace))
  const [ended, setEnded] = useState<string | null>(null)
  if (state && state.pending !== null) {
    return <Waiting workspace={workspace} state={state} onEnd={setEnded} />
  }
  return ended && <Alert role="status" color="brand" variant="light" title={ended} />
}

interface WaitingProps {
  workspace: string
  state: PolicyStateAnswer
  onEnd: (sentence: string) => void
}

function Waiting({ workspace, state, onEnd }: WaitingProps) {
  const { policy, pending, currencies } = state
  const mayChange = useCan('change_policy')
  // Told before the new state is shown, which takes this part away.
  const confirm = usePolicyChange(workspace, async (version: number) => {
    const after = await confirmPolicy(workspace, version)
    onEnd(CONFIRMED)
    return after
  })
  const cancel = usePolicyChange(workspace, async (version: number) => {
    const after = await cancelPolicy(workspace, version)
    onEnd(CANCELED)
    return after
  })
  if (pending === null) return null
  const { version, saved_by, may_confirm, may_not_confirm_reason: reason } = pending
  const error = confirm.error ?? cancel.error
  const isPending = confirm.isPending || cancel.isPending
  return (
    <Section title="A policy that permits more is waiting">
      <Stack gap="sm">
        <Text size="sm">
          It becomes valid <Time at={pending.valid_from} isPlanned />, unless an owner cancels it.
          Saved by {saved_by === null ? 'a deleted user' : <UntrustedName name={saved_by} />},{' '}
          <Time at={pending.saved_at} />.
        </Text>
        <dl className="facts">
          {findDifferences(policy, pending, currencies).map(([name, before, after]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {after}
                <br />
                <span className="quiet">Now: {before}</span>
              </dd>
            </div>
          ))}
        </dl>
        {mayChange && reason !== null && (
          <Text size="sm" c="dimmed">
            {reason}
          </Text>
        )}
        {error !== null && <ConfirmableError error={error} />}
        {mayChange && (
          <Group gap="sm">
            {may_confirm && (
              <Button
                size="sm"
                disabled={isPending}
                loading={confirm.isPending}
                onClick={() => confirm.mutate(version)}
              >
                Confirm now
              </Button>
            )}
            <Button
              size="sm"
              variant="default"
              disabled={isPending}
              loading={cancel.isPending}
              onClick={() => cancel.mutate(version)}
            >
              Cancel it
            </Button>
          </Group>
        )}
      </Stack>
    </Section>
  )
}

const CONFIRMED = 'The policy is valid now, including for pending proposals.'
const CANCELED = 'The waiting policy is canceled.'
