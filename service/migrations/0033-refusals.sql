-- What POST /events refused, counted by tracker, hour and cause, so that a sender finds out why an
-- event is missing. Never a body: a field is the name of a member, and an event ID is a keyed digest.

create table signalbox_store.refusals (
  tracker_id uuid not null,
  hour timestamptz not null,
  status smallint not null,
  field text not null,
  rule text not null,
  requests integer not null,
  errors integer not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  last_request_id text not null,
  id_digests text[] not null,
  primary key (tracker_id, hour, status, field, rule)
) with (fillfactor = 50);

comment on column signalbox_store.refusals.field is 'dotted path; empty: none, or too many causes';
comment on column signalbox_store.refusals.requests is 'requests that name this cause first';
comment on column signalbox_store.refusals.errors is 'how often this cause was named';
comment on column signalbox_store.refusals.id_digests is 'the latest event IDs, at most three';
