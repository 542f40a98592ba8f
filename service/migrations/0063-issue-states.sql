-- What people decided about issues: muted ones are folded, and resolved ones open again by
-- themselves when they happen after that. An issue without a row is open.
create table signalbox_store.issue_states (
  tracker_id uuid not null,
  issue_key text not null,
  state text not null check (state in ('muted', 'resolved')),
  changed_at timestamptz not null,
  primary key (tracker_id, issue_key)
);

comment on column signalbox_store.issue_states.issue_key is
  'JSON: refusal, status, field, rule; or delivery, destination, class, code, subcode, reason';

-- From when on the alerts of a workspace are raised. A workspace without a row has the defaults.
create table signalbox_store.alert_thresholds (
  workspace_id integer primary key,
  score_min numeric not null check (score_min between 0 and 10),
  score_fall numeric not null check (score_fall between 0.1 and 10),
  unexplained_events integer not null check (unexplained_events >= 1),
  unexplained_percent numeric not null check (unexplained_percent between 0 and 100),
  unreachable_minutes integer not null check (unreachable_minutes between 1 and 1440),
  updated_at timestamptz not null
);
