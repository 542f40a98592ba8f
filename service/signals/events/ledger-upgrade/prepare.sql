-- Run once before 0016-queue-and-history.sql in a store that is in use, while the version before goes
-- on writing. May be repeated. Everything here takes a moment only, once it has its locks.

lock table public.events, public.event_payloads, public.deliveries in access exclusive mode;

create schema if not exists signalbox_store;
create table if not exists signalbox_store.legacy_events (until timestamptz not null);

-- How far each copy has come, so that one that was interrupted goes on from there.
create table if not exists signalbox_store.upgrade_progress (
  step text primary key,
  after text[] not null
);

create table if not exists signalbox_store.event_keys (
  created_at timestamptz not null,
  tracker_id uuid not null,
  id_digest uuid not null,
  space smallint not null,
  primary key (tracker_id, space, id_digest)
);
create or replace function signalbox_store.event_id_digest(event_id text) returns uuid
language sql immutable parallel safe as $$
  select encode(substring(sha256(convert_to(event_id, 'UTF8')) from 1 for 16), 'hex')::uuid
$$;

-- The version gate: what the version before sends after the switch is refused as if the store were
-- away. These tables have the columns and unique indexes of that version, so that its statements
-- are understood, and stay empty.
create or replace function signalbox_store.refuse_earlier_version() returns boolean
language plpgsql stable as $$
begin
  raise exception 'the store was upgraded: start the newer version of Signalbox'
    using errcode = 'cannot_connect_now';
end $$;
create or replace function signalbox_store.refuse_earlier_statement() returns trigger
language plpgsql as $$
begin
  perform signalbox_store.refuse_earlier_version();
  return null;
end $$;
do $$ declare name text;
begin
  foreach name in array array['events', 'event_payloads', 'event_payloads_default', 'deliveries']
  loop
    if to_regclass('signalbox_store.earlier_' || name) is null then
      execute format('create table signalbox_store.%I
        (like public.%I including defaults including indexes)', 'earlier_' || name, name);
      execute format('create trigger refuse_earlier_version before insert or update or delete
        on signalbox_store.%I for each statement
        execute function signalbox_store.refuse_earlier_statement()', 'earlier_' || name);
    end if;
  end loop;
end $$;

-- Events. The table moves behind a view of the columns that there were: the version before keeps
-- statements that return all columns, and PostgreSQL refuses those once there is another column.
do $$ begin
  if (select relkind from pg_class where oid = 'public.events'::regclass) = 'r' then
    alter table public.events rename to events_legacy;
    alter table public.events_legacy set schema signalbox_store;
    alter index signalbox_store.events_pkey rename to events_legacy_by_id;
    alter index signalbox_store.events_by_parent rename to events_legacy_by_parent;
    alter index signalbox_store.events_by_receipt rename to events_legacy_by_receipt;
    create view public.events as select * from signalbox_store.events_legacy;
    alter table signalbox_store.events_legacy add column space smallint not null default 2;
  end if;
end $$;

-- An id that was stored before there were spaces is taken in both. The lock: a deletion whose event
-- the copy of ids has still seen waits for that copy, and then finds the keys.
create or replace function signalbox_store.copy_event_keys() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into signalbox_store.event_keys (tracker_id, space, id_digest, created_at)
    select tracker_id, both_spaces.space, signalbox_store.event_id_digest(event_id), created_at
    from changed cross join (values (0::smallint), (1::smallint)) as both_spaces(space)
    order by 1, 2, 3
    on conflict do nothing;
  else
    perform pg_advisory_xact_lock_shared(hashtext('signalbox_event_keys'));
    delete from signalbox_store.event_keys using changed
    where event_keys.tracker_id = changed.tracker_id and event_keys.space in (0, 1)
      and event_keys.id_digest = signalbox_store.event_id_digest(changed.event_id);
  end if;
  return null;
end $$;
create or replace trigger copy_event_keys after insert on signalbox_store.events_legacy
  referencing new table as changed for each statement
  execute function signalbox_store.copy_event_keys();
create or replace trigger delete_event_keys after delete on signalbox_store.events_legacy
  referencing old table as changed for each statement
  execute function signalbox_store.copy_event_keys();

alter table public.event_payloads
  add column if not exists created_at timestamptz not null default '-infinity',
  add column if not exists space smallint not null default 2;

-- Deliveries are copied, since their ids become 64 bits wide and those that wait lie apart: what
-- there is batch by batch, and what changes by a trigger.
create table if not exists signalbox_store.delivery_queue (
  created_at timestamptz not null,
  id bigint not null,
  next_attempt_at timestamptz not null,
  leased_until timestamptz,
  first_sent_at timestamptz,
  updated_at timestamptz,
  replayed_at timestamptz,
  attempt_count integer not null default 0,
  attempts_before_replay integer not null default 0,
  space smallint not null,
  is_test boolean not null,
  tracker_id uuid not null,
  destination_id uuid not null,
  event_id text not null,
  status text not null,
  status_reason text not null,
  platform_trace_id text,
  last_error json,
  attempt_ids uuid[] not null default '{}',
  primary key (tracker_id, created_at, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index if not exists delivery_queue_by_due_time
  on signalbox_store.delivery_queue (tracker_id, destination_id, next_attempt_at);

create table if not exists signalbox_store.deliveries_legacy (
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
  on signalbox_store.deliveries_legacy (tracker_id, replayable_until)
  where replayable_until is not null;
create index if not exists deliveries_legacy_by_failed_id
  on signalbox_store.deliveries_legacy (tracker_id, id) where replayable_until is not null;

create or replace function signalbox_store.copy_waiting_delivery(delivery public.deliveries)
returns void language sql as $$
  insert into signalbox_store.delivery_queue (created_at, id, next_attempt_at, leased_until,
    first_sent_at, updated_at, replayed_at, attempt_count, attempts_before_replay, space, is_test,
    tracker_id, destination_id, event_id, status, status_reason, platform_trace_id, last_error,
    attempt_ids)
  values (delivery.created_at, delivery.id, delivery.next_attempt_at, delivery.leased_until,
    delivery.first_sent_at, delivery.updated_at, delivery.replayed_at, delivery.attempt_count,
    delivery.attempts_before_replay, 2, delivery.is_test, delivery.tracker_id,
    delivery.destination_id, delivery.event_id, delivery.status, delivery.status_reason,
    delivery.platform_trace_id, delivery.last_error, delivery.attempt_ids)
  on conflict (tracker_id, created_at, id) do update set
    next_attempt_at = excluded.next_attempt_at, leased_until = excluded.leased_until,
    first_sent_at = excluded.first_sent_at, updated_at = excluded.updated_at,
    replayed_at = excluded.replayed_at, attempt_count = excluded.attempt_count,
    attempts_before_replay = excluded.attempts_before_replay, status = excluded.status,
    status_reason = excluded.status_reason, platform_trace_id = excluded.platform_trace_id,
    last_error = excluded.last_error, attempt_ids = excluded.attempt_ids
$$;
create or replace function signalbox_store.copy_final_delivery(delivery public.deliveries)
returns void language sql as $$
  insert into signalbox_store.deliveries_legacy (created_at, id, first_sent_at, updated_at,
    replayed_at, replayable_until, attempt_count, attempts_before_replay, space, is_test, tracker_id,
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

create or replace function signalbox_store.copy_delivery() returns trigger language plpgsql as $$
declare
  is_waiting boolean := tg_op <> 'DELETE' and new.next_attempt_at is not null;
  is_final boolean := tg_op <> 'DELETE' and new.next_attempt_at is null;
begin
  if tg_op <> 'INSERT' then
    if old.next_attempt_at is not null and not is_waiting then
      delete from signalbox_store.delivery_queue copied
      where copied.tracker_id = old.tracker_id and copied.created_at = old.created_at
        and copied.id = old.id;
    elsif old.next_attempt_at is null and not is_final then
      delete from signalbox_store.deliveries_legacy copied
      where copied.tracker_id = old.tracker_id and copied.created_at = old.created_at
        and copied.id = old.id;
    end if;
  end if;
  if is_waiting then
    perform signalbox_store.copy_waiting_delivery(new);
  elsif is_final then
    perform signalbox_store.copy_final_delivery(new);
  end if;
  return null;
end $$;
create or replace trigger copy_delivery after insert or update or delete on public.deliveries
  for each row execute function signalbox_store.copy_delivery();
