-- What the API said about refused events, the form of the latest ones, and their value. A version
-- that does not know them writes none.
alter table signalbox_store.refusals
  add column sentence text not null default '',
  add column samples text[] not null default '{}';

comment on column signalbox_store.refusals.sentence is 'what the API said last; empty: not recorded';
comment on column signalbox_store.refusals.samples is
  'the latest requests, at most three: milliseconds, Request-Id and form of the member';

create table signalbox_store.refusal_values (
  tracker_id uuid not null,
  hour timestamptz not null,
  status smallint not null,
  field text not null,
  rule text not null,
  currency text not null,
  amount numeric not null,
  requests integer not null,
  primary key (tracker_id, hour, status, field, rule, currency)
);

comment on table signalbox_store.refusal_values is
  'the value of refused requests that name the cause, where it can be read';
