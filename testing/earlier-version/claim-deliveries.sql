-- The statement by which version 0.5 (commit c7e7c81, service/signals/delivery/claim-store.ts) claims.
with due as materialized (
             select ctid as place, status = 'sent' as is_taken_up from deliveries
             where tracker_id = $1 and destination_id = $2 and next_attempt_at <= $3
               and (leased_until is null or leased_until <= statement_timestamp())
               and status = any($6::text[])
               and is_test = (
                 select is_test from deliveries
                 where tracker_id = $1 and destination_id = $2 and next_attempt_at <= $3
                   and (leased_until is null or leased_until <= statement_timestamp())
                 order by next_attempt_at limit 1
               )
             order by next_attempt_at limit $4
             for update skip locked
           )
           update deliveries set
    status = 'sent', status_reason = 'handed_over', attempt_count = attempt_count + 1,
    leased_until = date_trunc('milliseconds', statement_timestamp())
      + make_interval(secs => $5),
    first_sent_at = coalesce(first_sent_at, $3), updated_at = $3
           from due
           where deliveries.ctid = due.place and deliveries.tracker_id = $1
           returning deliveries.event_id, deliveries.id, deliveries.is_test,
  deliveries.attempt_count, deliveries.attempts_before_replay, deliveries.leased_until,
  due.is_taken_up
