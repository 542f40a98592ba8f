import { Alert, Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { meQuery } from '../api/queries.ts'
import { ErrorNotice } from './error-notice.tsx'
import { PageSkeleton } from './page-skeleton.tsx'

/** An error; where the identity of the person must be confirmed first, with the link to do it. */
export function ConfirmableError({ error }: { error: unknown }) {
  const isUnconfirmed =
    error instanceof ApiError &&
    error.status === 403 &&
    /^Confirm your identity/.test(error.message)
  if (!isUnconfirmed) return <ErrorNotice error={error} />
  return <ConfirmIdentity />
}

/**
 * What is sensitive: asks for the identity before the person fills in the form, not after. The
 * service asks again when the form comes.
 */
export function IdentityFirst({ children }: { children: ReactNode }) {
  const me = useQuery({ ...meQuery, queryKey: ['me', 'identity'], staleTime: 0, gcTime: 0 })
  if (me.error) return <ErrorNotice error={me.error} onRetry={() => void me.refetch()} />
  if (!me.data) return <PageSkeleton />
  return me.data.is_identity_confirmed ? children : <ConfirmIdentity />
}

function ConfirmIdentity() {
  const here = useLocation({ select: ({ href }) => href })
  return (
    <Alert role="alert" color="yellow" variant="light" title="Confirm your identity first">
      You signed in some time ago.{' '}
      <Anchor href={`/account/confirm?return_to=${encodeURIComponent(here)}`} underline="always">
        Confirm your identity
      </Anchor>
      , then do it again.
    </Alert>
  )
}
