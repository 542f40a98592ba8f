-- When each periodic job last succeeded, of all processes. A job that is done leaves no row in the
-- queue, so without this nobody could tell one that works from one that never runs.
create table job_records (
  name text primary key,
  known_at timestamptz not null default now(),
  succeeded_at timestamptz
);
