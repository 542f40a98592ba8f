-- Run once before 0016-queue-and-history.sql in a store that holds events, while the version before
-- goes on writing. May be repeated. Everything here takes a lock for a moment only.

create schema if not exists signalbox;

create table if not exists signalbox.legacy_events (until timestamptz not null);

-- Two Mondays ahead: until the switch everything that comes in belongs to the legacy partition.
insert into signalbox.legacy_events (until)
select date_trunc('week', greatest(now(), max(newest.created_at)) at time zone 'UTC'
  + interval '14 days') at time zone 'UTC'
from trackers
left join lateral (
  select created_at from public.events
  where tracker_id = trackers.id order by created_at desc limit 1
) newest on true
having not exists (select 1 from signalbox.legacy_events);

create table if not exists signalbox.event_keys (
  created_at timestamptz not null,
  tracker_id uuid not null,
  id_digest uuid not null,
  space smallint not null,
  primary key (tracker_id, space, id_digest)
);

create or replace function signalbox.event_id_digest(event_id text) returns uuid
language sql immutable parallel safe as $$
  select encode(substring(sha256(convert_to(event_id, 'UTF8')) from 1 for 16), 'hex')::uuid
$$;

-- An id that was stored before there were spaces is taken in both.
create or replace function signalbox.copy_event_keys() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into signalbox.event_keys (tracker_id, space, id_digest, created_at)
    select tracker_id, space, signalbox.event_id_digest(event_id), created_at
    from changed cross join (values (0::smallint), (1::smallint)) as both_spaces(space)
    order by tracker_id, space, 3
    on conflict do nothing;
  else
    delete from signalbox.event_keys using changed
    where event_keys.tracker_id = changed.tracker_id and event_keys.space in (0, 1)
      and event_keys.id_digest = signalbox.event_id_digest(changed.event_id);
  end if;
  return null;
end $$;
create or replace trigger copy_event_keys after insert on public.events
  referencing new table as changed for each statement
  execute function signalbox.copy_event_keys();
create or replace trigger delete_event_keys after delete on public.events
  referencing old table as changed for each statement
  execute function signalbox.copy_event_keys();

alter table public.events add column if not exists space smallint not null default 2;
alter table public.event_payloads
  add column if not exists created_at timestamptz not null default '-infinity',
  add column if not exists space smallint not null default 2;

-- Ids of deliveries become 64 bits wide, which an existing column cannot without rewriting its table
-- under a lock: final deliveries are copied, and what changes meanwhile is copied by a trigger.
create table if not exists signalbox.deliveries_legacy (
  created_at timestamptz not null,
  id bigint not null,
  first_sent_at timestamptz,
  updated_at timestamptz,
  replayed_at timestamptz,
  replayable_until timestamptz,
  attempt_count integer not null default 0,
  attempts_before_replay integer not null default 0,
  space smallint not null,
  is_test boolean not null,
  tracker_id uuid not null,
  destination_id uuid,
  event_id text not null,
  status text not null,
  status_reason text not null,
  platform_trace_id text,
  last_error json,
  attempt_ids uuid[] not null default '{}',
  primary key (tracker_id, created_at, id)
);
create index if not exists deliveries_legacy_by_failure
  on signalbox.deliveries_legacy (tracker_id, replayable_until) where replayable_until is not null;
create index if not exists deliveries_legacy_by_failed_id
  on signalbox.deliveries_legacy (tracker_id, id) where replayable_until is not null;

create or replace function signalbox.copy_delivery(delivery public.deliveries) returns void
language sql as $$
  insert into signalbox.deliveries_legacy (created_at, id, first_sent_at, updated_at, replayed_at,
    replayable_until, attempt_count, attempts_before_replay, space, is_test, tracker_id,
    destination_id, event_id, status, status_reason, platform_trace_id, last_error, attempt_ids)
  values (delivery.created_at, delivery.id, delivery.first_sent_at, delivery.updated_at,
    delivery.replayed_at, delivery.replayable_until, delivery.attempt_count,
    delivery.attempts_before_replay, 2, delivery.is_test, delivery.tracker_id,
    delivery.destination_id, delivery.event_id, delivery.status, delivery.status_reason,
    delivery.platform_trace_id, delivery.last_error, delivery.attempt_ids)
  on conflict (tracker_id, created_at, id) do update set
    first_sent_at = excluded.first_sent_at, updated_at = excluded.updated_at,
    replayed_at = excluded.replayed_at, replayable_until = excluded.replayable_until,
    attempt_count = excluded.attempt_count,
    attempts_before_replay = excluded.attempts_before_replay, status = excluded.status,
    status_reason = excluded.status_reason, platform_trace_id = excluded.platform_trace_id,
    last_error = excluded.last_error, attempt_ids = excluded.attempt_ids
$$;
create or replace function signalbox.copy_final_delivery() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' and new.next_attempt_at is null then
    perform signalbox.copy_delivery(new);
  else
    delete from signalbox.deliveries_legacy copied
    where copied.tracker_id = old.tracker_id and copied.created_at = old.created_at
      and copied.id = old.id;
  end if;
  return null;
end $$;
create or replace trigger copy_final_delivery after update or delete on public.deliveries
  for each row execute function signalbox.copy_final_delivery();
create or replace trigger copy_new_delivery after insert on public.deliveries
  for each row when (new.next_attempt_at is null) execute function signalbox.copy_final_delivery();

-- What the constraint of the legacy partition will say. Checked against what is there by
-- `validate constraint`, beside the writers.
do $$ declare until text := (select format('%L', legacy_events.until) from signalbox.legacy_events);
begin
  if not exists (select 1 from pg_constraint where conname = 'events_legacy_until') then
    execute format('alter table public.events add constraint events_legacy_until
      check (created_at < %s::timestamptz) not valid', until);
  end if;
  if not exists (select 1 from pg_constraint where conname = 'deliveries_legacy_until') then
    execute format('alter table signalbox.deliveries_legacy add constraint deliveries_legacy_until
      check (created_at < %s::timestamptz)', until);
  end if;
end $$;
