-- What the platform took from us, counted at the moment at which its answer is written down, so that
-- a reconciliation reads a few rows instead of a day of the ledger (docs/decisions/0013).
--
-- sent_on is the UTC day of the answer, event_on the UTC day of the event's own time as it was sent.
-- accepted counts live events, test test events, and unknown the attempts without a usable answer,
-- after which the platform may or may not have the event. The slot spreads the writers, as in
-- 0004-counts.sql. A day and destination has about two hundred names; what is beyond goes under
-- `(other names)`.
create table sent_counts (
  tracker_id uuid not null,
  destination_id uuid not null,
  sent_on date not null,
  event_name text not null,
  event_on date not null,
  slot smallint not null,
  accepted integer not null,
  test integer not null,
  unknown integer not null,
  primary key (tracker_id, destination_id, sent_on, event_name, event_on, slot)
) with (fillfactor = 50);

-- How many of the accepted live events carried each key by which the platform finds a person.
create table sent_key_counts (
  tracker_id uuid not null,
  destination_id uuid not null,
  sent_on date not null,
  event_name text not null,
  match_key text not null,
  slot smallint not null,
  events integer not null,
  primary key (tracker_id, destination_id, sent_on, event_name, match_key, slot)
) with (fillfactor = 50);

-- What was accepted before this migration, as far back as a platform can be asked. Nobody knows any
-- more which attempts had no answer and which keys an event carried: those counts begin here.
insert into sent_counts
select delivery.tracker_id, delivery.destination_id, (delivery.updated_at at time zone 'UTC')::date,
  event.event_name, (least(event.event_time, event.created_at) at time zone 'UTC')::date, 0,
  count(*) filter (where not delivery.is_test), count(*) filter (where delivery.is_test), 0
from deliveries delivery
join events event using (tracker_id, event_id)
where delivery.status = 'accepted' and delivery.updated_at > now() - interval '9 days'
group by 1, 2, 3, 4, 5;

-- When the platform was last asked, which is later than updated_at when it then gave no counts and
-- the report that there was has been kept; trouble says why.
alter table reconciliation_reports add column tried_at timestamptz, add column trouble text;
update reconciliation_reports set tried_at = updated_at;
alter table reconciliation_reports alter column tried_at set not null;
