import { Alert, Button, Group, Text } from '@mantine/core'
import type { PolicyStateAnswer } from '@signalbox/contract/agents/policy.ts'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ApiError } from '../api/client.ts'
import { ConfirmableError } from '../components/confirm-identity.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Facts, Section } from '../components/facts.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Time } from '../components/time.tsx'
import { useCan, useWorkspace } from '../layout/scope.ts'
import { policyQuery, savePolicy, usePolicyChange } from '../policy/policy-api.ts'
import { EXECUTION_MODE_LABELS, policyFacts } from '../policy/policy-facts.ts'
import { PolicyFields } from '../policy/policy-fields.tsx'
import {
  type PolicyErrors,
  type PolicyForm,
  policyFormErrors,
  toPolicyForm,
  toPolicySubmission,
} from '../policy/policy-form.ts'
import { WaitingPolicy } from '../policy/waiting-policy.tsx'

/** What agents may do: members read the policy, owners change it. */
export function PolicyPage() {
  const { id: workspace } = useWorkspace()
  const mayChange = useCan('change_policy')
  const policy = useQuery(policyQuery(workspace))
  return (
    <Page
      title="Policy"
      description="What agents may do, with and without the approval of a person."
    >
      {policy.error && <ErrorNotice error={policy.error} onRetry={() => void policy.refetch()} />}
      {!policy.data && !policy.error && <PageSkeleton />}
      {policy.data && (
        <>
          <WaitingPolicy />
          <CurrentPolicy state={policy.data} />
          {mayChange ? (
            <ChangeForm workspace={workspace} state={policy.data} />
          ) : (
            <Text size="sm">Only an owner of the workspace can change the policy.</Text>
          )}
        </>
      )}
    </Page>
  )
}

function CurrentPolicy({ state: { policy, currencies } }: { state: PolicyStateAnswer }) {
  const [name, description] = EXECUTION_MODE_LABELS[policy.execution_mode]
  const changed =
    policy.changed_at === null ? (
      'never'
    ) : (
      <>
        <Time at={policy.changed_at} />, version {policy.version}
      </>
    )
  return (
    <Section title={`Current policy: ${name}`} description={description}>
      <Facts facts={[...policyFacts(policy, currencies), ['Last changed', changed]]} />
      <Text size="sm" c="dimmed" mt="sm">
        Limits apply to each ad account, in its own time zone.
      </Text>
    </Section>
  )
}

const SAVED = 'The policy is saved. It applies immediately, including to pending proposals.'
const SAVED_AND_WAITING =
  'The policy is saved. What permits less applies now; what permits more waits, and all owners ' +
  'are told.'
const CONFLICT =
  'Another person changed the policy while this page was open. Compare the current policy with ' +
  'your changes, and save again if you still want them.'

function ChangeForm({ workspace, state }: { workspace: string; state: PolicyStateAnswer }) {
  const [form, setForm] = useState(() => toPolicyForm(state.policy, state.currencies))
  const [saved, setSaved] = useState<string | null>(null)
  const save = usePolicyChange(workspace, (sent: PolicyForm) =>
    savePolicy(workspace, toPolicySubmission(sent)),
  )
  const isConflict = save.error instanceof ApiError && save.error.status === 409
  const errors = errorsOf(save.error, form)
  const onChange = (changes: Partial<PolicyForm>) => {
    setSaved(null)
    setForm(before => ({ ...before, ...changes }))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setSaved(null)
    // After a conflict the person has seen the current policy, so saving again may replace it.
    const version = isConflict ? state.policy.version : form.version
    const sent = { ...form, version }
    setForm(sent)
    save.mutate(sent, {
      onSuccess: answer => {
        setSaved(answer.pending === null ? SAVED : SAVED_AND_WAITING)
        setForm(toPolicyForm(answer.policy, answer.currencies))
      },
      onError: error => focusFirst(errorsOf(error, sent)),
    })
  }
  return (
    <Section
      title="Change the policy"
      description={
        'What permits agents less applies at once. What permits them more needs your confirmed ' +
        `identity and waits ${state.wait_hours} hours, unless another owner confirms it or ` +
        'nobody else decides.'
      }
    >
      <form onSubmit={submit} noValidate>
        <PolicyFields
          form={form}
          errors={errors ?? {}}
          currencies={state.currencies}
          onChange={onChange}
        />
        {isConflict && (
          <Alert role="alert" color="red" variant="light" mt="md" title="Not saved">
            {CONFLICT}
          </Alert>
        )}
        {save.error && !isConflict && (
          <div className="form-error">
            {errors ? (
              <Alert role="alert" color="red" variant="light" title="Not saved: correct the fields">
                {Object.values(errors).join(' ')}
              </Alert>
            ) : (
              <ConfirmableError error={save.error} />
            )}
          </div>
        )}
        {saved && <Alert role="status" color="brand" variant="light" mt="md" title={saved} />}
        <Group mt="md">
          <Button type="submit" loading={save.isPending}>
            Save the policy
          </Button>
        </Group>
      </form>
    </Section>
  )
}

function errorsOf(error: unknown, form: PolicyForm): PolicyErrors | null {
  const isInvalid = error instanceof ApiError && error.status === 422
  return isInvalid ? policyFormErrors(error.errors, form) : null
}

/** The first wrong field gets the focus. */
function focusFirst(errors: PolicyErrors | null): void {
  const [first] = Object.keys(errors ?? {})
  if (first) document.getElementById(first)?.focus()
}
