-- What the platform and we counted on one UTC day, one row a destination; and one snapshot of match
-- quality a day and destination.
create table reconciliation_reports (
  tracker_id uuid not null,
  id integer not null,
  destination_id uuid not null,
  report_date date not null,
  accepted_count integer not null,
  meta_count integer not null,
  event_counts json not null,
  buckets json not null,
  unexplained_residual integer not null,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tracker_id, id),
  unique (tracker_id, report_date, destination_id)
);

create table emq_snapshots (
  tracker_id uuid not null,
  id integer not null,
  destination_id uuid not null,
  measured_on date not null,
  score numeric not null,
  week_over_week_change numeric,
  alerted boolean not null,
  platform_response json,
  measured_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tracker_id, id),
  unique (tracker_id, measured_on, destination_id)
);
