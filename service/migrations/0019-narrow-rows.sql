-- What nearly every row has in common is left out of it (docs/decisions/0025): null is what
-- `comment on column` says. Only the catalogue changes. A partition that was attached has the
-- constraint by itself, so each partition is told.

do $$
declare
  part regclass;
begin
  for part in
    select relid from pg_partition_tree('signalbox_store.events') order by level, relid
  loop
    execute format(
      'alter table %s
         alter column event_class drop not null,
         alter column action_source drop not null,
         alter column consent_basis drop not null,
         alter column measurement_class drop not null,
         alter column attribution_join drop not null,
         alter column enforcement_scope drop not null,
         alter column consent_normalization_version drop not null',
      part
    );
  end loop;
  for part in
    select relid from pg_partition_tree('signalbox_store.deliveries') order by level, relid
  loop
    execute format('alter table %s alter column status_reason drop not null', part);
  end loop;
end $$;

comment on column signalbox_store.events.event_class is 'null: conversion';
comment on column signalbox_store.events.action_source is 'null: website';
comment on column signalbox_store.events.consent_basis is 'null: consent';
comment on column signalbox_store.events.measurement_class is 'null: advertising';
comment on column signalbox_store.events.attribution_join is 'null: allowed';
comment on column signalbox_store.events.enforcement_scope is 'null: event';
comment on column signalbox_store.events.consent_normalization_version is 'null: 1';

comment on column signalbox_store.deliveries.status_reason is 'null: the same as the status';

create or replace view signalbox_store.all_deliveries as
select tracker_id, created_at, id, event_id, space, destination_id, status, status_reason, is_test,
  attempt_count, attempts_before_replay, next_attempt_at, leased_until, first_sent_at, updated_at,
  replayed_at, null::timestamptz as replayable_until, platform_trace_id, last_error, attempt_ids
from signalbox_store.delivery_queue
union all
select tracker_id, created_at, id, event_id, space, destination_id, status,
  coalesce(status_reason, status), is_test, attempt_count, attempts_before_replay, null, null,
  first_sent_at, updated_at, replayed_at, replayable_until, platform_trace_id, last_error,
  attempt_ids
from signalbox_store.deliveries;
