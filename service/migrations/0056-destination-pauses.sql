-- A person names and pauses a destination. A version that does not know the columns shows no name
-- and never probes a paused destination, because it has no time of a next probe.
alter table destinations
  add column name text,
  add column paused_at timestamptz;

comment on column destinations.name is 'what people call it; null: its platform and target';
comment on column destinations.paused_at is 'when a person paused it; null: no person did';
