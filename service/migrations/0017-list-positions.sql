-- Every so many events of a tracker's UTC day, which event is the `position`-th of that day, counted
-- from the oldest. A page in the middle of a large day is read from the nearest of these rows.
create table list_positions (
  tracker_id uuid not null,
  received_on date not null,
  position integer not null,
  created_at timestamptz not null,
  event_id text not null,
  space smallint not null default 0,
  primary key (tracker_id, received_on, position)
);

-- The oldest created_at among the events that were counted in the row since positions were last
-- written for the day. Positions from that time on may be off, and are not used. Acceptance lowers
-- it in the statement that adds the events; a row of which nothing is known makes no position valid.
alter table event_counts
  add column unindexed_since timestamptz not null default '-infinity';

-- Finds the days that have new events. None of its columns is ever updated, so that counting stays a
-- heap-only update.
create index event_counts_by_day on event_counts (received_on);
