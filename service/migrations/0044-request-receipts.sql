-- Requests whose result the platform tells later, in counts: it took the events and names a receipt.
-- The deliveries are accepted and have left the queue; a job reads the result and writes it here.
-- `id` is that of the request in send_attempts, so a delivery leads to its receipt.
create table signalbox_store.request_receipts (
  tracker_id uuid not null,
  id uuid not null,
  destination_id uuid not null,
  receipt_id text not null,
  accepted_at timestamptz not null,
  event_count integer not null,
  state text not null,
  record_count integer,
  errors jsonb not null default '[]',
  warnings jsonb not null default '[]',
  answer jsonb,
  polls integer not null default 0,
  next_poll_at timestamptz,
  settled_at timestamptz,
  primary key (tracker_id, id)
);

create index request_receipts_due on signalbox_store.request_receipts (next_poll_at)
  where next_poll_at is not null;

comment on column signalbox_store.request_receipts.accepted_at is
  'the settlement, under whose day and hour the deliveries are counted';
comment on column signalbox_store.request_receipts.state is
  'processing, succeeded, partially_succeeded, failed; unknown: no result within a day';
comment on column signalbox_store.request_receipts.next_poll_at is 'null: nothing more is asked';

-- The deliveries of a receipt by their primary keys, at most 500 in a row.
create table signalbox_store.request_receipt_deliveries (
  tracker_id uuid not null,
  receipt uuid not null,
  chunk integer not null,
  delivery_ids bigint[] not null,
  created_at timestamptz[] not null,
  primary key (tracker_id, receipt, chunk)
);

-- Requests that processes have reserved of a limit that destinations share, such as that of a Cloud
-- project: one row for each key, on the coordinator of a cluster.
create table signalbox_store.request_budgets (
  platform text not null,
  key text not null,
  minute timestamptz not null,
  minute_reserved integer not null,
  day date not null,
  day_reserved integer not null,
  primary key (platform, key)
) with (fillfactor = 50);
