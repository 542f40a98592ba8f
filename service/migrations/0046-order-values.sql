-- What a refund tells a platform that restates values: the value of its order, in the currency of
-- the purchase. It is written before the request, so it also says what an attempt may have told that
-- ended without an answer. Null for every other delivery; stores in use need no backfill.
alter table signalbox_store.delivery_queue add column told_value numeric;
alter table signalbox_store.deliveries add column told_value numeric;
comment on column signalbox_store.delivery_queue.told_value is
  'the value of the order that this refund tells the platform; null: it tells none';

create or replace view signalbox_store.all_deliveries as
select tracker_id, created_at, id, event_id, space, destination_id, status, status_reason, is_test,
  attempt_count, attempts_before_replay, next_attempt_at, leased_until, first_sent_at, updated_at,
  replayed_at, null::timestamptz as replayable_until, platform_trace_id, last_error, attempt_ids,
  has_id_prefix, told_value
from signalbox_store.delivery_queue
union all
select tracker_id, created_at, id, event_id, space, destination_id, status,
  coalesce(status_reason, status), is_test, attempt_count, attempts_before_replay, null, null,
  first_sent_at, updated_at, replayed_at, replayable_until, platform_trace_id, last_error,
  attempt_ids, has_id_prefix, told_value
from signalbox_store.deliveries;
