-- Counts by hour of what happened to events, and of the causes of failures, for the dashboard. They
-- are written with the rows that they count; the slot spreads the writers, as in 0004-counts.sql.
-- They begin with this version: hours before it have no counts.

create table signalbox_store.stage_counts (
  tracker_id uuid not null,
  hour timestamptz not null,
  stage text not null,
  reason text not null,
  slot smallint not null,
  count integer not null,
  primary key (tracker_id, hour, stage, reason, slot)
) with (fillfactor = 50);

comment on column signalbox_store.stage_counts.stage is
  'accepted (events); held, failed and platform_accepted (live deliveries)';
comment on column signalbox_store.stage_counts.reason is 'as deliveries.status_reason; empty: none';

-- Attempts and failures by the platform's error class, code and subcode; -1 is no code. A failure
-- before sending has the class local and a reason.
create table signalbox_store.delivery_issues (
  tracker_id uuid not null,
  destination_id uuid not null,
  day date not null,
  class text not null,
  code integer not null,
  subcode integer not null,
  reason text not null,
  slot smallint not null,
  attempts integer not null,
  failed integer not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  event_ids text[] not null,
  primary key (tracker_id, destination_id, day, class, code, subcode, reason, slot)
) with (fillfactor = 50);

comment on column signalbox_store.delivery_issues.attempts is 'answers with this cause, by delivery';
comment on column signalbox_store.delivery_issues.failed is 'deliveries that failed with it for good';
comment on column signalbox_store.delivery_issues.event_ids is
  'the latest events, at most three: the number of the space, a colon, the ID';
