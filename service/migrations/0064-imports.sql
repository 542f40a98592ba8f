-- Imports of files in the dashboard: the outcome of the rows of each. The rows stay in the browser.
create table signalbox_store.imports (
  tracker_id uuid not null,
  created_at timestamptz not null,
  id uuid not null,
  file_name text not null,
  file_digest text not null,
  stored integer not null default 0,
  duplicates integer not null default 0,
  refused integer not null default 0,
  blank integer not null default 0,
  finished_at timestamptz,
  primary key (tracker_id, created_at, id)
);

comment on column signalbox_store.imports.created_at is 'within the ID too, whose first part is it';
