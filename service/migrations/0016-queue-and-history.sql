-- The delivery queue apart from its history, and a ledger in weekly partitions (docs/decisions/0023).
--
-- The tables are in the schema signalbox_store, which stands first in the search path of this
-- version. It has the name of no account: connections of the version before look into a schema that
-- is called like their account first. A store in use was prepared by service/db/ledger-upgrade/
-- while that version went on: this file only switches over, so it takes seconds whatever the size.

create schema if not exists signalbox_store;

-- One row in a store that was in use: until when its legacy partition reaches. Payloads of days up
-- to then may have index keys of that time.
create table if not exists signalbox_store.legacy_events (until timestamptz not null);

do $$ begin
  if exists (select 1 from signalbox_store.legacy_events) then
    call signalbox_store.lock_earlier_tables();
  end if;
end $$;

-- The one place that keeps event ids unique. The digest is the first 128 bits of SHA-256 of the id;
-- created_at leads to the event, whose own key follows the time of receipt.
create table if not exists signalbox_store.event_keys (
  created_at timestamptz not null,
  tracker_id uuid not null,
  id_digest uuid not null,
  -- 0: ids that a secret key sent, 1: ids that a publishable key sent.
  space smallint not null,
  primary key (tracker_id, space, id_digest)
);

create or replace function signalbox_store.event_id_digest(event_id text) returns uuid
language sql immutable parallel safe as $$
  select encode(substring(sha256(convert_to(event_id, 'UTF8')) from 1 for 16), 'hex')::uuid
$$;

create table signalbox_store.events (
  created_at timestamptz not null,
  event_time timestamptz not null,
  consent_captured_at timestamptz,
  last_differing_at timestamptz,
  differing_submissions integer not null default 0,
  -- As in event_keys; 2: stored before there were spaces, so its id is taken in both.
  space smallint not null,
  tracker_id uuid not null,
  event_id text not null,
  event_name text not null,
  event_class text not null,
  action_source text not null,
  consent_basis text not null,
  measurement_class text not null,
  attribution_join text not null,
  enforcement_scope text not null,
  consent_normalization_version text not null,
  event_source text,
  parent_event_id text,
  order_id text,
  value_amount numeric,
  value_currency text,
  value_data json,
  consent json,
  notes json,
  body_digest bytea not null,
  primary key (tracker_id, created_at, event_id, space)
) partition by range (created_at);
create index events_by_parent on signalbox_store.events (tracker_id, parent_event_id)
  where parent_event_id is not null;

-- Deliveries that wait or are being sent. A row leaves for the history when it is final, in the same
-- statement; a claim writes columns that no index covers, so it stays a heap-only update.
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

-- Final deliveries. created_at is the event's own, so the two are dropped together.
create table signalbox_store.deliveries (
  created_at timestamptz not null,
  id bigint not null,
  first_sent_at timestamptz,
  updated_at timestamptz,
  replayed_at timestamptz,
  -- The end of the platform's window, for failures that a replay may take up.
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
) partition by range (created_at);
create index deliveries_by_failure on signalbox_store.deliveries (tracker_id, replayable_until)
  where replayable_until is not null;
create index deliveries_by_failed_id on signalbox_store.deliveries (tracker_id, id)
  where replayable_until is not null;

-- Counted per tracker, up to 2^53 - 1. A process takes ids in blocks, in a statement of its own.
create table signalbox_store.delivery_id_counters (
  tracker_id uuid primary key references trackers (id),
  last_id bigint not null
);

do $switch$
begin
  if exists (select 1 from signalbox_store.legacy_events) then
    call signalbox_store.switch_over();
    drop procedure signalbox_store.switch_over, signalbox_store.lock_earlier_tables;
  else
    -- Not between the look and the end of the tables may the first event come in.
    lock table public.trackers, public.events in access exclusive mode;
    if exists (select 1 from public.events limit 1) then
      raise exception 'this store is in use and was not prepared: run "npm run migrate" again';
    end if;
    drop table public.events, public.event_payloads, public.deliveries,
      public.delivery_id_counters;
    create table signalbox_store.event_payloads (
      created_at timestamptz not null,
      received_on date not null,
      space smallint not null,
      tracker_id uuid not null,
      event_id text not null,
      visitor_id text,
      page_url text,
      user_data json not null,
      click_ids json not null,
      identifier_keys integer[] not null default '{0}',
      primary key (tracker_id, created_at, event_id, space, received_on)
    ) partition by range (received_on);
    create index event_payloads_by_identifier
      on signalbox_store.event_payloads using gin (identifier_keys);
  end if;
end $switch$;

create table if not exists signalbox_store.event_payloads_default
  partition of signalbox_store.event_payloads default;
create table signalbox_store.events_default partition of signalbox_store.events default;
create table signalbox_store.deliveries_default partition of signalbox_store.deliveries default;

-- Expiry looks up days there. An upgraded store has it already.
create index if not exists event_payloads_default_by_day
  on signalbox_store.event_payloads_default (received_on);

-- No samples of what identifies a person are kept; see 0006-erasure.sql.
alter table signalbox_store.event_payloads
  alter column visitor_id set statistics 0, alter column page_url set statistics 0;
alter table signalbox_store.events
  alter column event_source set statistics 0, alter column body_digest set statistics 0;

create view signalbox_store.all_deliveries as
select tracker_id, created_at, id, event_id, space, destination_id, status, status_reason, is_test,
  attempt_count, attempts_before_replay, next_attempt_at, leased_until, first_sent_at, updated_at,
  replayed_at, null::timestamptz as replayable_until, platform_trace_id, last_error, attempt_ids
from signalbox_store.delivery_queue
union all
select tracker_id, created_at, id, event_id, space, destination_id, status, status_reason, is_test,
  attempt_count, attempts_before_replay, null, null, first_sent_at, updated_at,
  replayed_at, replayable_until, platform_trace_id, last_error, attempt_ids
from signalbox_store.deliveries;
