-- The last step, called by 0016-queue-and-history.sql in its transaction: seconds, whatever the size
-- of the store. What processes of the version before send from then on is refused as if the store
-- were away, so that their callers try again: 57P03, which they answer with 503.
create or replace procedure signalbox.switch_over() language plpgsql as $switch$
declare
  bound timestamptz := (select until from signalbox.legacy_events);
  part record;
begin
  lock table public.events, public.event_payloads, public.deliveries, public.delivery_id_counters
    in access exclusive mode;

  create table signalbox.earlier_events (like public.events including defaults including indexes);
  create table signalbox.earlier_event_payloads
    (like public.event_payloads including defaults including indexes);
  create table signalbox.earlier_deliveries
    (like public.deliveries including defaults including indexes);

  -- Events: the table becomes a partition as it lies.
  drop trigger copy_event_keys on public.events;
  drop trigger delete_event_keys on public.events;
  alter table public.events drop constraint events_pkey;
  alter table public.events
    add constraint events_legacy_pkey primary key using index events_legacy_key;
  drop index public.events_by_receipt;
  alter index public.events_by_parent rename to events_legacy_by_parent;
  alter table public.events alter column space drop default;
  alter table public.events rename to events_legacy;
  alter table public.events_legacy set schema signalbox;
  execute format('alter table signalbox.events attach partition signalbox.events_legacy
    for values from (minvalue) to (%L)', bound);
  alter table signalbox.events_legacy drop constraint events_legacy_until;

  -- Payloads: every day stays, under a key that begins with the time of receipt.
  alter table public.event_payloads drop constraint event_payloads_pkey;
  alter table public.event_payloads set schema signalbox;
  alter table only signalbox.event_payloads add constraint event_payloads_pkey
    primary key (tracker_id, created_at, event_id, space, received_on);
  for part in
    select relname as name, relname || '_key' as key from pg_inherits
    join pg_class on pg_class.oid = inhrelid
    where inhparent = 'signalbox.event_payloads'::regclass
  loop
    -- A day that was made since the keys were built is as good as empty.
    execute format('create unique index if not exists %I on public.%I
      (tracker_id, created_at, event_id, space, received_on)', part.key, part.name);
    execute format('alter table public.%I add constraint %I primary key using index %I',
      part.name, part.name || '_pkey', part.key);
    execute format('alter table public.%I set schema signalbox', part.name);
    execute format('alter index signalbox.event_payloads_pkey attach partition signalbox.%I',
      part.name || '_pkey');
  end loop;
  alter table signalbox.event_payloads
    alter column created_at drop default, alter column space drop default;

  -- Deliveries: what waits goes into the queue; what is final was copied.
  insert into signalbox.delivery_queue (created_at, id, next_attempt_at, leased_until,
    first_sent_at, updated_at, replayed_at, attempt_count, attempts_before_replay, space, is_test,
    tracker_id, destination_id, event_id, status, status_reason, platform_trace_id, last_error,
    attempt_ids)
  select created_at, id, next_attempt_at, leased_until, first_sent_at, updated_at, replayed_at,
    attempt_count, attempts_before_replay, 2, is_test, tracker_id, destination_id, event_id, status,
    status_reason, platform_trace_id, last_error, attempt_ids
  from public.deliveries where next_attempt_at is not null;
  delete from signalbox.deliveries_legacy copied using signalbox.delivery_queue waiting
  where copied.tracker_id = waiting.tracker_id and copied.created_at = waiting.created_at
    and copied.id = waiting.id;
  drop function signalbox.copy_delivery, signalbox.copy_final_delivery, signalbox.copy_event_keys
    cascade;
  drop table public.deliveries;
  execute format('alter table signalbox.deliveries attach partition signalbox.deliveries_legacy
    for values from (minvalue) to (%L)', bound);
  alter table signalbox.deliveries_legacy drop constraint deliveries_legacy_until;
  insert into signalbox.delivery_id_counters (tracker_id, last_id)
  select tracker_id, last_id from public.delivery_id_counters;

  -- The version gate. The next version drops it.
  create function signalbox.refuse_earlier_version() returns boolean language plpgsql stable as $$
  begin
    raise exception 'the store was upgraded: start the newer version of Signalbox'
      using errcode = 'cannot_connect_now';
  end $$;
  create function signalbox.refuse_earlier_statement() returns trigger language plpgsql as $$
  begin
    return signalbox.refuse_earlier_version();
  end $$;
  for part in
    select name, 'earlier_' || name as gate
    from unnest(array['events', 'event_payloads', 'deliveries']) as gated(name)
  loop
    execute format('create trigger refuse_earlier_version before insert or update or delete
      on signalbox.%I for each statement execute function signalbox.refuse_earlier_statement()',
      part.gate);
    execute format('create view public.%I as
      select * from signalbox.%I where signalbox.refuse_earlier_version()', part.name, part.gate);
  end loop;
end $switch$;
