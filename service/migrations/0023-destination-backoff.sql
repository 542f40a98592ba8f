-- Why and until when the workers send nothing to a destination, for the explanations of its waiting
-- deliveries. Circuits are in the memory of each worker, and the process that answers a read may be
-- another one. A version that knows none of these columns leaves them as they are.

alter table destinations
  add column backoff_cause text,
  add column backoff_since timestamptz,
  add column backoff_until timestamptz;

comment on column destinations.backoff_cause is 'unreachable or throttled; null: neither';
comment on column destinations.backoff_since is 'since when the platform gives no usable answer';
comment on column destinations.backoff_until is 'when the next request may be made';
