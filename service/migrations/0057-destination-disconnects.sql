-- A person disconnects a destination. The row stays, because its events, counts and erasures name it.
-- A version that does not know the column goes on planning events for it, which the next one skips.
alter table destinations add column disconnected_at timestamptz;

comment on column destinations.disconnected_at is 'when a person disconnected it, for good';
