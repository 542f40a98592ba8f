-- Events of pages beside those of the tracker secret: whether the two share their IDs at the
-- platforms, which names the secret sends, and which orders it has sent.

-- Existing trackers go on as before: shops whose tag, pixel and back end report the same ID rely on
-- the platform to count it once.
alter table trackers add column share_page_ids boolean not null default true;

-- The names of the events that the tracker secret sent, by UTC day. Rows live for a month.
create table signalbox_store.secret_event_names (
  tracker_id uuid not null,
  received_on date not null,
  event_name text not null,
  primary key (tracker_id, received_on, event_name)
);

-- Leads from an event name and an order ID to the events that have both, for trackers with pages.
-- Rows live as long as their events. The digest is `event_id_digest` of the name, a line feed and
-- the order ID; the space is that of event_keys.
create table signalbox_store.order_keys (
  created_at timestamptz not null,
  tracker_id uuid not null,
  order_digest uuid not null,
  space smallint not null,
  primary key (tracker_id, space, order_digest, created_at)
);

alter table signalbox_store.delivery_queue add column has_id_prefix boolean;
alter table signalbox_store.deliveries add column has_id_prefix boolean;
comment on column signalbox_store.delivery_queue.has_id_prefix is
  'sent under the ID of the event with the prefix of pages; null: under its own ID';

create or replace view signalbox_store.all_deliveries as
select tracker_id, created_at, id, event_id, space, destination_id, status, status_reason, is_test,
  attempt_count, attempts_before_replay, next_attempt_at, leased_until, first_sent_at, updated_at,
  replayed_at, null::timestamptz as replayable_until, platform_trace_id, last_error, attempt_ids,
  has_id_prefix
from signalbox_store.delivery_queue
union all
select tracker_id, created_at, id, event_id, space, destination_id, status,
  coalesce(status_reason, status), is_test, attempt_count, attempts_before_replay, null, null,
  first_sent_at, updated_at, replayed_at, replayable_until, platform_trace_id, last_error,
  attempt_ids, has_id_prefix
from signalbox_store.deliveries;
