import pg from 'pg'

export interface NotificationListener {
  close(): Promise<void>
}

export interface NotificationListenerOptions {
  connectionString: string
  channel: string
  onNotification: () => void
  /** The connection broke; notices are missed until somebody listens again. */
  onLost: () => void
}

/** A server that takes the connection and stays silent must not hold up whoever asks. */
const CONNECT_MILLISECONDS_MAX = 5_000

/** Listens on a channel with a connection of its own (LISTEN belongs to one connection). */
export async function listenForNotifications(
  options: NotificationListenerOptions,
): Promise<NotificationListener> {
  const { connectionString, channel, onNotification: onNotice, onLost } = options
  const client = new pg.Client({
    connectionString,
    application_name: 'signalbox notices',
    connectionTimeoutMillis: CONNECT_MILLISECONDS_MAX,
    query_timeout: CONNECT_MILLISECONDS_MAX,
    keepAlive: true,
  })
  let isClosed = false
  client.on('notification', onNotice)
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
