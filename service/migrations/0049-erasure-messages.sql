-- Erasures that platforms with an erasure message are still to be told: the digest of the request by
-- which a destination was sent events of the person. A row is deleted when the platform has
-- answered, or after a week.
create table signalbox_store.erasure_messages (
  tracker_id uuid not null,
  destination_id uuid not null,
  digest text not null,
  id uuid not null,
  erased_at timestamptz not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  primary key (tracker_id, destination_id, digest)
);

create index erasure_messages_due on signalbox_store.erasure_messages (next_attempt_at);
