-- Keys for browsers: where a publishable key may be used, and which forwarded requests have come.

-- Only publishable keys have origins; a new list is a new key.
alter table tracker_keys add column origins text[] not null default '{}';

-- The signatures of forwarded requests, as long as they would still be in time, so that every
-- process refuses a replay. Each new row takes a few old ones of its tracker with it.
create table forwarded_signatures (
  tracker_id uuid not null,
  signature bytea not null,
  forwarded_at timestamptz not null,
  primary key (tracker_id, signature)
);
create index forwarded_signatures_by_time on forwarded_signatures (tracker_id, forwarded_at);
