import type { LiveMessage } from '@signalbox/contract/session/live.ts'
import { useEffect, useRef, useState } from 'react'
import { call, pathOf } from '../api/client.ts'
import type { EventFilters } from './event-filters.ts'
import type { TrackerParams } from './event-queries.ts'
import { applyMessage, type LiveRows, NO_ROWS, showWaiting } from './live-rows.ts'

export type LiveConnection = 'connecting' | 'live' | 'reconnecting'

export interface LiveEvents {
  rows: LiveRows
  connection: LiveConnection
  /** Shows the waiting events. */
  show: () => void
}

interface LiveRequest {
  params: TrackerParams
  filters: EventFilters
  /** Asked when events arrive: whether they would move what the person reads. */
  isHeld: () => boolean
}

/** Follows the events of a tracker while the component is mounted. */
export function useLiveEvents({ params, filters, isHeld }: LiveRequest): LiveEvents {
  const { workspace, tracker } = params
  const [rows, setRows] = useState(NO_ROWS)
  const [connection, setConnection] = useState<LiveConnection>('connecting')
  const current = useRef({ filters, isHeld })
  current.current = { filters, isHeld }
  useEffect(() => {
    setRows(NO_ROWS)
    setConnection('connecting')
    return followEvents(
      { workspace, tracker },
      {
        onMessage: message => {
          const held = current.current.isHeld()
          setRows(known => {
            // The first message is the list itself.
            const isHeldBack = held && known.shown.length > 0
            return applyMessage(known, { message, ...current.current, isHeld: isHeldBack })
          })
        },
        onConnection: setConnection,
      },
    )
  }, [workspace, tracker])
  return { rows, connection, show: () => setRows(showWaiting) }
}

interface Listeners {
  onMessage: (message: LiveMessage) => void
  onConnection: (connection: LiveConnection) => void
}

const RECONNECT_MILLISECONDS = 5_000

/**
 * Opens the stream, and opens it again when it breaks. Browsers reconnect by themselves after a
 * broken connection, but not after an answer such as the 502 of a proxy during a restart. Returns
 * the function that ends it.
 */
function followEvents(params: TrackerParams, { onMessage, onConnection }: Listeners): () => void {
  let source: EventSource | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastEventId = ''
  let isEnded = false
  const open = () => {
    if (isEnded) return
    const query = { last_event_id: lastEventId }
    const path = pathOf('GET /workspaces/:workspace/trackers/:tracker/live', { params, query })
    source = new EventSource(path)
    source.onopen = () => onConnection('live')
    source.onmessage = ({ data, lastEventId: id }) => {
      lastEventId = id
      onMessage(JSON.parse(data))
    }
    source.onerror = () => {
      onConnection('reconnecting')
      if (source?.readyState === EventSource.CLOSED) {
        timer = setTimeout(reopen, RECONNECT_MILLISECONDS)
      }
    }
  }
  // A stream has no status to read: this leads to the page for signing in when the session ended.
  const reopen = () => void call('GET /me', { params: {} }).then(open, () => restart())
  const restart = () => {
    if (!isEnded) timer = setTimeout(reopen, RECONNECT_MILLISECONDS)
  }
  open()
  return () => {
    isEnded = true
    clearTimeout(timer)
    source?.close()
  }
}
