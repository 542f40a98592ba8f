import pg from 'pg'

export interface NotificationListener {
  close(): Promise<void>
}

export interface NotificationListenerOptions {
  connectionString: string
  channel: string
  onNotification: (payload: string) => void
  /** The connection broke. Notifications are missed until the caller listens again. */
  onLost: () => void
}

/** A server that accepts the connection and never answers must not block the caller. */
const CONNECT_MILLISECONDS_MAX = 5_000

/** Listens on a channel over its own connection, because LISTEN belongs to a connection. */
export async function listenForNotifications(
  options: NotificationListenerOptions,
): Promise<NotificationListener> {
  const { connectionString, channel, onNotification, onLost } = options
  const client = new pg.Client({
    connectionString,
    application_name: 'signalbox notices',
    connectionTimeoutMillis: CONNECT_MILLISECONDS_MAX,
    query_timeout: CONNECT_MILLISECONDS_MAX,
    keepAlive: true,
  })
  let isClosed = false
  client.on('notification', ({ payload = '' }) => onNotification(payload))
  client.on('error', () => {})
  client.on('end', () => {
    if (!isClosed) onLost()
  })
  try {
    await client.connect()
    await client.query(`listen ${client.escapeIdentifier(channel)}`)
  } catch (error) {
    isClosed = true
    client.end().catch(() => {})
    throw error
  }
  return {
    close: async () => {
      isClosed = true
      await client.end()
    },
  }
}
