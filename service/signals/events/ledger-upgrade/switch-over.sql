-- The last steps, called by 0016-queue-and-history.sql in its transaction, the lock before anything
-- else: seconds, whatever the size of the store. From then on views that refuse everything stand under the names that the version
-- before uses, so that it answers 503 and its callers try again.

-- A lock that is waited for holds up everything that comes behind it, so each try is shorter than
-- `deadlock_timeout`, after which a statement of the version before could be ended for our sake. The
-- first lock is in the way of no statement: it ends an autovacuum, and keeps it away.
create or replace procedure signalbox_store.lock_earlier_tables() language plpgsql as $lock$
begin
  perform set_config('lock_timeout', '60s', true);
  lock table signalbox_store.events_legacy, public.event_payloads, public.deliveries
    in share update exclusive mode;
  perform set_config('lock_timeout', '200ms', true);
  for tries in 1..600 loop
    begin
      lock table public.events, signalbox_store.events_legacy, public.event_payloads,
        public.deliveries, public.delivery_id_counters in access exclusive mode;
      return;
    exception when lock_not_available then
      perform pg_sleep(0.3);
    end;
  end loop;
  raise exception 'something holds the tables of this store, such as a backup'
    using errcode = 'lock_not_available';
end $lock$;

create or replace procedure signalbox_store.switch_over() language plpgsql as $switch$
declare
  bound timestamptz := (select until from signalbox_store.legacy_events);
  part record;
begin
  -- Events: the table becomes a partition as it lies.
  create or replace view public.events as
    select * from signalbox_store.earlier_events where signalbox_store.refuse_earlier_version();
  drop trigger copy_event_keys on signalbox_store.events_legacy;
  drop trigger delete_event_keys on signalbox_store.events_legacy;
  alter table signalbox_store.events_legacy drop constraint events_legacy_by_id;
  alter table signalbox_store.events_legacy
    add constraint events_legacy_pkey primary key using index events_legacy_key;
  drop index signalbox_store.events_legacy_by_receipt;
  alter table signalbox_store.events_legacy alter column space drop default;
  execute format('alter table signalbox_store.events attach partition signalbox_store.events_legacy
    for values from (minvalue) to (%L)', bound);
  alter table signalbox_store.events_legacy drop constraint events_legacy_until;

  -- Payloads: every day stays, under a key that begins with the time of receipt.
  alter table public.event_payloads drop constraint event_payloads_pkey;
  alter table public.event_payloads set schema signalbox_store;
  alter table only signalbox_store.event_payloads add constraint event_payloads_pkey
    primary key (tracker_id, created_at, event_id, space, received_on);
  for part in
    select relname as name, relname || '_key' as key from pg_inherits
    join pg_class on pg_class.oid = inhrelid
    where inhparent = 'signalbox_store.event_payloads'::regclass
  loop
    -- A day that was made since the keys were built is as good as empty.
    execute format('create unique index if not exists %I on public.%I
      (tracker_id, created_at, event_id, space, received_on)', part.key, part.name);
    execute format('alter table public.%I add constraint %I primary key using index %I',
      part.name, part.name || '_pkey', part.key);
    execute format('alter table public.%I set schema signalbox_store', part.name);
    execute format('alter index signalbox_store.event_payloads_pkey
      attach partition signalbox_store.%I', part.name || '_pkey');
  end loop;
  alter table signalbox_store.event_payloads
    alter column created_at drop default, alter column space drop default;
  create view public.event_payloads as
    select * from signalbox_store.earlier_event_payloads
    where signalbox_store.refuse_earlier_version();
  create view public.event_payloads_default as
    select *, ctid from signalbox_store.earlier_event_payloads_default
    where signalbox_store.refuse_earlier_version();

  -- Deliveries were copied.
  drop trigger copy_delivery on public.deliveries;
  drop function signalbox_store.copy_delivery, signalbox_store.copy_waiting_delivery,
    signalbox_store.copy_final_delivery;
  drop table public.deliveries;
  execute format('alter table signalbox_store.deliveries
    attach partition signalbox_store.deliveries_legacy for values from (minvalue) to (%L)', bound);
  alter table signalbox_store.deliveries_legacy drop constraint deliveries_legacy_until;
  -- Claims name rows by where they lie, which a view does not have of itself.
  create view public.deliveries as
    select *, ctid from signalbox_store.earlier_deliveries
    where signalbox_store.refuse_earlier_version();

  -- The earlier counters stay where they are: an id is taken before the event is refused.
  insert into signalbox_store.delivery_id_counters (tracker_id, last_id)
  select tracker_id, last_id from public.delivery_id_counters;

  drop function signalbox_store.copy_event_keys;
  drop table signalbox_store.upgrade_progress;
end $switch$;
