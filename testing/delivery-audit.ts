import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { Database } from '../service/db/database.ts'

/** One change of a delivery, as the store itself saw it. */
export interface AuditedMove {
  trackerId: string
  eventId: string
  id: number
  /** The `application_name` of the connection that made it. */
  worker: string
  /** Null when the delivery was made. */
  from: DeliveryStatus | null
  to: DeliveryStatus
  /** It was handed to this worker. */
  isClaim: boolean
  /** Claimed although the lease of another claim had not ended. */
  isTooEarly: boolean
}

/**
 * Lets the store write down every move of a status and every claim. What is read at the end cannot
 * tell what happened on the way. A delivery that goes from the queue into the history, or back,
 * moves from the status that it had. A lease that a test ends is no move.
 */
export async function auditDeliveries({ pool }: Database): Promise<void> {
  await pool.query(
    `create table delivery_moves (
       position bigint generated always as identity primary key,
       tracker_id uuid not null, event_id text not null, id bigint not null,
       worker text not null, status_before text, status_after text not null,
       is_claim boolean not null, is_too_early boolean not null
     )`,
  )
  await pool.query('create index on delivery_moves (tracker_id, event_id, id, position)')
  await pool.query(
    `create function note_delivery_move() returns trigger language plpgsql as $$
     begin
       if tg_op = 'INSERT' then
         insert into delivery_moves (tracker_id, event_id, id, worker, status_before, status_after,
           is_claim, is_too_early)
         values (new.tracker_id, new.event_id, new.id, current_setting('application_name'),
           (select status_after from delivery_moves move
            where move.tracker_id = new.tracker_id and move.event_id = new.event_id
              and move.id = new.id
            order by position desc limit 1),
           new.status, false, false);
       elsif new.status <> old.status or new.attempt_count <> old.attempt_count then
         insert into delivery_moves (tracker_id, event_id, id, worker, status_before, status_after,
           is_claim, is_too_early)
         values (new.tracker_id, new.event_id, new.id, current_setting('application_name'),
           old.status, new.status, new.attempt_count > old.attempt_count,
           new.attempt_count > old.attempt_count
             and coalesce(old.leased_until > statement_timestamp(), false));
       end if;
       return null;
     end $$`,
  )
  for (const table of ['delivery_queue', 'deliveries']) {
    await pool.query(
      `create trigger note_delivery_move after insert or update on ${table}
       for each row execute function note_delivery_move()`,
    )
  }
}

/** Everything that was written down, oldest first. */
export async function readAudit({ pool }: Database): Promise<AuditedMove[]> {
  const { rows } = await pool.query('select * from delivery_moves order by position')
  return rows.map(row => ({
    trackerId: row.tracker_id,
    eventId: row.event_id,
    id: row.id,
    worker: row.worker,
    from: row.status_before,
    to: row.status_after,
    isClaim: row.is_claim,
    isTooEarly: row.is_too_early,
  }))
}

/** Ends the leases of these workers and of no others, as if their time were over. */
export async function endLeasesOf({ pool }: Database, workers: readonly string[]): Promise<void> {
  await pool.query(
    `update delivery_queue set leased_until = statement_timestamp() - interval '1 second'
     where leased_until is not null and (
       select move.worker from delivery_moves move
       where move.tracker_id = delivery_queue.tracker_id
         and move.event_id = delivery_queue.event_id and move.id = delivery_queue.id
       order by move.position desc limit 1
     ) = any($1::text[])`,
    [workers],
  )
}
