import { Alert } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useIsServiceAway } from '../api/connection.ts'

/** Says that the service is away, and loads what failed again when it is back. */
export function ConnectionNotice() {
  const isAway = useIsServiceAway()
  const wasAway = useRef(false)
  const client = useQueryClient()
  const router = useRouter()
  useEffect(() => {
    if (wasAway.current && !isAway) {
      void client.resetQueries({ predicate: ({ state }) => state.status === 'error' })
      void client.invalidateQueries()
      void router.invalidate()
    }
    wasAway.current = isAway
  }, [isAway, client, router])
  return (
    <div role="status">
      {isAway && (
        <Alert color="yellow" variant="light" mb="md" title="Signalbox does not answer">
          {navigator.onLine ? 'The service may be restarting.' : 'Your device is offline.'} This
          page tries again by itself; what you see may be old.
        </Alert>
      )}
    </div>
  )
}
