-- Alerts about a workspace as a whole, such as a changed audit log; those of destinations are in
-- `alerts`. A version that does not know this table neither raises nor resolves them.
create table workspace_alerts (
  id integer generated always as identity primary key,
  -- No foreign key: the log of a workspace that is gone is still verified.
  workspace_id integer not null,
  kind text not null,
  sentence text not null,
  details json not null,
  raised_at timestamptz not null,
  resolved_at timestamptz
);

-- At most one open alert of a kind and workspace. Reads of open alerts use it too.
create unique index workspace_alerts_open on workspace_alerts (workspace_id, kind)
  where resolved_at is null;
