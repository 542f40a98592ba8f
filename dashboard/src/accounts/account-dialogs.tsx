import { NativeSelect, Text, TextInput } from '@mantine/core'
import type { AdAccount } from '@signalbox/contract/session/users.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, fieldErrorOf, isShownByFields } from '../api/client.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { adAccountsQuery } from '../destinations/queries.ts'
import { useWorkspace } from '../layout/scope.ts'

const ACCOUNTS = '/workspaces/:workspace/ad-accounts'

function useAccountChange<Input>(
  change: (workspace: string, input: Input) => Promise<unknown>,
  onDone: () => void,
) {
  const { id: workspace } = useWorkspace()
  const client = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => change(workspace, input),
    onSuccess: onDone,
    onSettled: () => client.invalidateQueries(adAccountsQuery({ workspace })),
  })
}

interface NewAccount {
  name: string
  platform_account_id: string
  currency: string
  time_zone: string
}

const FIELDS = [
  { name: 'name', label: 'Name', description: 'What you call it.', maxLength: 100 },
  {
    name: 'platform_account_id',
    label: 'Meta ad account ID',
    description: 'The digits after act_.',
    maxLength: 30,
  },
  {
    name: 'currency',
    label: 'Currency',
    description: 'Three-letter code, such as EUR.',
    maxLength: 3,
  },
] as const

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')]

/** Adds an ad account, to which agents and tokens can be bound. */
export function AddAccountDialog({ onClose }: { onClose: () => void }) {
  const [values, setValues] = useState<NewAccount>({
    name: '',
    platform_account_id: '',
    currency: '',
    time_zone: 'UTC',
  })
  const add = useAccountChange(
    (workspace, body: NewAccount) => call(`POST ${ACCOUNTS}`, { params: { workspace }, body }),
    onClose,
  )
  const names = [...FIELDS.map(({ name }) => name), 'time_zone']
  return (
    <FormDialog
      title="Add an ad account"
      submitLabel="Add the ad account"
      isPending={add.isPending}
      error={isShownByFields(add.error, names) ? null : add.error}
      onSubmit={() => add.mutate(values)}
      onClose={onClose}
    >
      {FIELDS.map(({ name, ...field }, position) => (
        <TextInput
          key={name}
          {...field}
          {...(position === 0 && { 'data-autofocus': true })}
          autoComplete="off"
          spellCheck={false}
          value={values[name]}
          onChange={({ currentTarget }) => setValues({ ...values, [name]: currentTarget.value })}
          error={fieldErrorOf(add.error, name)}
        />
      ))}
      <NativeSelect
        label="Time zone"
        description="That of the ad account at Meta: its days begin there."
        data={ZONES}
        value={values.time_zone}
        onChange={({ currentTarget }) => setValues({ ...values, time_zone: currentTarget.value })}
        error={fieldErrorOf(add.error, 'time_zone')}
      />
    </FormDialog>
  )
}

interface StatusDialogProps {
  account: AdAccount
  onClose: () => void
}

/** Disables an ad account, or enables it again. */
export function AccountStatusDialog({ account, onClose }: StatusDialogProps) {
  const isActive = account.status === 'active'
  const change = useAccountChange(
    (workspace, status: AdAccount['status']) =>
      call(`PATCH ${ACCOUNTS}/:account`, {
        params: { workspace, account: account.id },
        body: { status },
      }),
    onClose,
  )
  return (
    <FormDialog
      title={`${isActive ? 'Disable' : 'Enable'} ${account.name}?`}
      submitLabel={isActive ? 'Disable' : 'Enable'}
      isFinal={isActive}
      isPending={change.isPending}
      error={change.error}
      onSubmit={() => change.mutate(isActive ? 'disabled' : 'active')}
      onClose={onClose}
    >
      <Text size="sm">
        {isActive
          ? 'Its agents and tokens can no longer act, until it is enabled again.'
          : 'Its agents and tokens work again, if nobody revoked them.'}
      </Text>
    </FormDialog>
  )
}
