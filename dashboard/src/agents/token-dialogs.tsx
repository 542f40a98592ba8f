import { NativeSelect, Text, TextInput } from '@mantine/core'
import {
  TIER_LABELS,
  TIERS,
  type Tier,
  TOKEN_DAYS,
  type TokenDays,
} from '@signalbox/contract/session/agent-permissions.ts'
import type { AdAccount } from '@signalbox/contract/session/users.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { fieldErrorOf, isShownByFields } from '../api/client.ts'
import { FormDialog, SecretDialog } from '../components/form-dialog.tsx'
import { Time } from '../components/time.tsx'
import { useWorkspace } from '../layout/scope.ts'
import { type ExecutionToken, issueToken, revokeToken, tokensKey } from './agent-api.ts'

interface IssueDialogProps {
  /** Active ones, at least one. */
  accounts: readonly AdAccount[]
  onClose: () => void
}

/** Issues a token for one ad account, and shows it once. */
export function IssueTokenDialog({ accounts, onClose }: IssueDialogProps) {
  const { id: workspace } = useWorkspace()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [account, setAccount] = useState(accounts[0]?.id ?? 0)
  const [tier, setTier] = useState<Tier>('read')
  const [days, setDays] = useState<TokenDays>(30)
  const issue = useMutation({
    mutationFn: () => issueToken(workspace, { name, ad_account_id: account, tier, days }),
    onSettled: () => client.invalidateQueries({ queryKey: tokensKey(workspace) }),
  })
  if (issue.data) {
    return (
      <SecretDialog
        title="Your new token"
        secret={issue.data.token}
        copyLabel="Copy the token"
        onClose={onClose}
      >
        <Text size="sm">
          Keep it on a server, never in a page or a prompt. It is valid until{' '}
          <Time at={issue.data.expires_at} format="absolute" />.
        </Text>
      </SecretDialog>
    )
  }
  const errorOf = (field: string) => fieldErrorOf(issue.error, field)
  const fields = ['name', 'ad_account_id', 'tier', 'days']
  return (
    <FormDialog
      title="Issue a token"
      submitLabel="Issue the token"
      isSensitive
      isPending={issue.isPending}
      error={isShownByFields(issue.error, fields) ? null : issue.error}
      onSubmit={() => issue.mutate()}
      onClose={onClose}
    >
      <TextInput
        data-autofocus
        label="Name"
        description="What it is used for."
        maxLength={100}
        autoComplete="off"
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        error={errorOf('name')}
      />
      <NativeSelect
        label="Ad account"
        value={String(account)}
        data={accounts.map(each => ({ value: String(each.id), label: each.name }))}
        onChange={({ currentTarget }) => setAccount(Number(currentTarget.value))}
        error={errorOf('ad_account_id')}
      />
      <NativeSelect
        label="Permissions"
        value={tier}
        data={TIERS.map(each => ({ value: each, label: TIER_LABELS[each] }))}
        onChange={({ currentTarget }) =>
          setTier(TIERS.find(each => each === currentTarget.value) ?? 'read')
        }
        error={errorOf('tier')}
      />
      <NativeSelect
        label="Valid for"
        value={String(days)}
        data={TOKEN_DAYS.map(count => ({ value: String(count), label: `${count} days` }))}
        onChange={({ currentTarget }) =>
          setDays(TOKEN_DAYS.find(count => String(count) === currentTarget.value) ?? 30)
        }
        error={errorOf('days')}
      />
    </FormDialog>
  )
}

interface RevokeDialogProps {
  token: ExecutionToken
  onClose: () => void
}

export function RevokeTokenDialog({ token, onClose }: RevokeDialogProps) {
  const { id: workspace } = useWorkspace()
  const client = useQueryClient()
  const revoke = useMutation({
    mutationFn: () => revokeToken({ workspace, token: token.id }),
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: tokensKey(workspace) }),
  })
  return (
    <FormDialog
      isFinal
      title={`Revoke ${token.name}?`}
      submitLabel="Revoke"
      isPending={revoke.isPending}
      error={revoke.error}
      onSubmit={() => revoke.mutate()}
      onClose={onClose}
    >
      <Text size="sm">
        What ends in {token.last_characters} stops working at once, for good.{' '}
        {token.last_used_at ? (
          <>
            It was last used <Time at={token.last_used_at} format="relative" />.
          </>
        ) : (
          'It was never used.'
        )}
      </Text>
    </FormDialog>
  )
}
