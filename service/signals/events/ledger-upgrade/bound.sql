-- Until when the legacy partition reaches: a Monday, 8 to 14 days ahead. Until the switch everything
-- that comes in belongs to it. The last thing before the switch, since the version before could
-- store nothing any more if it went on beyond the bound.

lock table public.events, public.deliveries, signalbox_store.deliveries_legacy
  in access exclusive mode;

alter table signalbox_store.events_legacy drop constraint if exists events_legacy_until;
alter table signalbox_store.deliveries_legacy drop constraint if exists deliveries_legacy_until;
delete from signalbox_store.legacy_events;

insert into signalbox_store.legacy_events (until)
select date_trunc('week', greatest(now(), max(newest.created_at)) at time zone 'UTC'
  + interval '14 days') at time zone 'UTC'
from public.trackers
left join lateral (
  select created_at from signalbox_store.events_legacy
  where tracker_id = trackers.id order by created_at desc limit 1
) newest on true;

-- What the constraints of the legacy partitions will say. What is there already is checked by
-- `validate constraint`, beside the writers.
do $$ declare until text := (
  select format('%L', legacy_events.until) from signalbox_store.legacy_events
);
begin
  execute format('alter table signalbox_store.events_legacy add constraint events_legacy_until
    check (created_at < %s::timestamptz) not valid', until);
  execute format('alter table signalbox_store.deliveries_legacy
    add constraint deliveries_legacy_until check (created_at < %s::timestamptz) not valid', until);
end $$;
