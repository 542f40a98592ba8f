-- What a report of one destination says besides its counts (docs/decisions/0046).

-- Live deliveries of a destination that reached an outcome other than `accepted`, by the UTC day on
-- which they reached it. A replay takes its deliveries out again. `status` and `reason` are those
-- of deliveries; the slot spreads the writers, as in sent_counts.
create table signalbox_store.destination_outcomes (
  tracker_id uuid not null,
  destination_id uuid not null,
  day date not null,
  status text not null,
  reason text not null,
  slot smallint not null,
  count integer not null,
  primary key (tracker_id, destination_id, day, status, reason, slot)
) with (fillfactor = 50);

-- The value of the accepted live events, by currency: exact sums, written with sent_counts.
-- `event_name` is the platform's, as in sent_counts; `events` are those that have a value.
create table signalbox_store.sent_value_counts (
  tracker_id uuid not null,
  destination_id uuid not null,
  sent_on date not null,
  event_name text not null,
  currency text not null,
  slot smallint not null,
  events integer not null,
  amount numeric not null,
  primary key (tracker_id, destination_id, sent_on, event_name, currency, slot)
) with (fillfactor = 50);

-- The requests of a day, for platforms that tell the results of requests and have no report.
-- The tracker comes last: an index that begins with it is taken for the primary key in a store
-- without statistics, and reads all receipts of the tracker.
create index request_receipts_of_day
  on signalbox_store.request_receipts (destination_id, accepted_at, tracker_id);

-- Null in reports from before: their outcomes, values and results of requests were not kept.
alter table reconciliation_reports add column details json;
