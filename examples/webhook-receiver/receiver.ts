import { createServer, type IncomingMessage, type Server } from 'node:http'
import { verifyWebhook, type WebhookMessage, WebhookVerificationError } from '@signalbox/sdk'
import type pg from 'pg'

export interface ReceiverOptions {
  pool: pg.Pool
  /** One secret, or the new and the old one while it is rotated. */
  secrets: readonly string[]
  now?: () => Date
}

/** The primary key makes repeats harmless: an event that is there stays as it is. */
export const SCHEMA = `
  create table if not exists signalbox_events (
    event_id text primary key,
    event_name text not null,
    event_time timestamptz not null,
    value numeric,
    currency text,
    is_test boolean not null,
    event jsonb not null,
    received_at timestamptz not null default now()
  )`

/** A server that answers 200 only for what is committed. */
export function createReceiver(options: ReceiverOptions): Server {
  return createServer(async (request, response) => {
    response.writeHead(await receive(request, options)).end()
  })
}

const BODY_BYTES_MAX = 4 * 1_024 * 1_024

async function receive(
  request: IncomingMessage,
  { pool, secrets, now = () => new Date() }: ReceiverOptions,
): Promise<number> {
  try {
    const body = await readBody(request)
    if (body === null) return 413
    const { headers } = request
    const message = await verifyWebhook({ body, headers, secret: secrets, now: now() })
    // Other types may come later: what is not known is taken and ignored.
    if (message.type === 'events.accepted') await storeEvents(pool, message)
    if (message.type === 'person.erased') await erasePerson(pool, message)
    return 200
  } catch (error) {
    return error instanceof WebhookVerificationError ? 401 : 500
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Deletes the events that name the person by any identifier. */
async function erasePerson(pool: pg.Pool, { data }: WebhookMessage): Promise<void> {
  await pool.query(
    `delete from signalbox_events
     where exists (
       select from jsonb_each(event -> 'user') as identifier (name, digests)
       where digests ?| $1::text[]
     )`,
    [data.sha256],
  )
}

/** One statement, so a batch is stored as a whole or not at all. */
async function storeEvents(pool: pg.Pool, { data, test = false }: WebhookMessage): Promise<void> {
  await pool.query(
    `insert into signalbox_events
       (event_id, event_name, event_time, value, currency, is_test, event)
     select event ->> 'event_id', event ->> 'event_name', (event ->> 'event_time')::timestamptz,
       (event ->> 'value')::numeric, event ->> 'currency', $2, event
     from jsonb_array_elements($1::jsonb) event
     on conflict (event_id) do nothing`,
    [JSON.stringify(data.events), test],
  )
}
