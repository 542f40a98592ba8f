-- Kept counts, so that a list of ten million events knows its length and its days without reading
-- them, and the dashboard its rates. A row a day; the slot spreads the writers of one tracker over
-- several rows, so that two processes do not wait for each other's commit.
create table event_counts (
  tracker_id uuid not null,
  received_on date not null,
  slot smallint not null,
  events integer not null,
  primary key (tracker_id, received_on, slot)
) with (fillfactor = 50);

-- Live deliveries by the day on which they were planned: those that are not skipped, and of these
-- the ones that the platform accepted.
create table delivery_counts (
  tracker_id uuid not null,
  planned_on date not null,
  slot smallint not null,
  planned integer not null,
  accepted integer not null,
  primary key (tracker_id, planned_on, slot)
) with (fillfactor = 50);

insert into event_counts (tracker_id, received_on, slot, events)
select tracker_id, (created_at at time zone 'UTC')::date, 0, count(*)
from events group by 1, 2;

insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
select tracker_id, (created_at at time zone 'UTC')::date, 0, count(*),
  count(*) filter (where status = 'accepted')
from deliveries where not is_test and status not like 'skipped:%' group by 1, 2;

create index events_by_receipt on events (tracker_id, created_at desc, event_id desc);
