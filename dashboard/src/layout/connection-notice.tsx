import { Alert } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useDataAge, useIsServiceAway } from '../api/connection.ts'

/** Says that the service is away or shows old rows, and loads again what failed when it is back. */
export function ConnectionNotice() {
  const isAway = useIsServiceAway()
  const age = useDataAge()
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
      {!isAway && age > 0 && (
        <Alert color="yellow" variant="light" mb="md" title="Lists and reports are a little old">
          What happened in the last {age} seconds may be missing: the database that answers them is
          behind. Your own changes are not affected.
        </Alert>
      )}
    </div>
  )
}
