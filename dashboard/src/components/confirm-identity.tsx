import { Alert, Anchor } from '@mantine/core'
import { useLocation } from '@tanstack/react-router'
import { ApiError } from '../api/client.ts'
import { ErrorNotice } from './error-notice.tsx'

/** An error; where the identity of the person must be confirmed first, with the link to do it. */
export function ConfirmableError({ error }: { error: unknown }) {
  const here = useLocation({ select: ({ href }) => href })
  const isUnconfirmed =
    error instanceof ApiError &&
    error.status === 403 &&
    /^Confirm your identity/.test(error.message)
  if (!isUnconfirmed) return <ErrorNotice error={error} />
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
