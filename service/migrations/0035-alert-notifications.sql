-- Alerts are sent as notifications. What was sent is stored here, so that a process that dies between
-- an alert and its message loses none and repeats none. A version that does not know these tables
-- sends no alerts, and the next version that does continues where it stopped.

-- The alerts that were announced and not yet resolved.
create table announced_alerts (
  workspace_id integer not null references workspaces (id),
  -- One occurrence of an alert: when it ends and begins again, the key is another one.
  alert_key text not null,
  kind text not null,
  -- What the resolution says: the names are those of the announcement.
  destination_id text not null,
  place text not null,
  path text not null,
  announced_at timestamptz not null,
  primary key (workspace_id, alert_key)
);

-- What a member chose for their own email. No row: the default of the role.
create table notification_choices (
  workspace_id integer not null,
  user_id integer not null,
  topic text not null,
  is_wanted boolean not null,
  primary key (workspace_id, user_id, topic),
  foreign key (workspace_id, user_id) references members (workspace_id, user_id) on delete cascade
);

-- The few destinations with a problem, which a job reads every minute.
create index destinations_with_problem on destinations (tracker_id, id)
  where status = 'inactive' or backoff_cause = 'unreachable';
