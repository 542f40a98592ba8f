-- Withdrawals that pages sent with a publishable key, which anyone can copy. They are apart from
-- those of the tracker secret (consent_withdrawals) because they reach less and can be lifted.
-- Processes of earlier versions still write to consent_withdrawals, which cannot be lifted.

create table signalbox_store.page_withdrawals (
  tracker_id uuid not null,
  visitor_id text not null,
  platform text not null default '',
  id uuid not null,
  event_id text not null,
  origin text,
  reaches_secret boolean not null,
  identifiers integer not null default 0,
  first_withdrawn_at timestamptz not null,
  withdrawn_at timestamptz not null,
  lifted_at timestamptz,
  lift_reason text,
  primary key (tracker_id, visitor_id, platform),
  unique (tracker_id, id)
);

create index page_withdrawals_by_time
  on signalbox_store.page_withdrawals (tracker_id, withdrawn_at, id);

comment on column signalbox_store.page_withdrawals.platform is 'empty: every platform';
comment on column signalbox_store.page_withdrawals.event_id is
  'of the latest consent_withdrawal, in the space of publishable keys';
comment on column signalbox_store.page_withdrawals.reaches_secret is
  'whether events of the tracker secret are reached: the visitor ID is one that nobody guesses';

-- The keys by which an event finds the withdrawals in force, as in consent_withdrawals, and by which
-- an erasure finds those of a visitor. Lifting a withdrawal deletes the former.
create table signalbox_store.page_withdrawal_keys (
  tracker_id uuid not null,
  key text not null,
  withdrawal_id uuid not null,
  withdrawn_at timestamptz not null,
  primary key (tracker_id, key, withdrawal_id)
);

create index page_withdrawal_keys_by_withdrawal
  on signalbox_store.page_withdrawal_keys (tracker_id, withdrawal_id);

-- Values may identify a person who is erased later: see 0006-erasure.sql.
alter table signalbox_store.page_withdrawals alter column visitor_id set statistics 0;
alter table signalbox_store.page_withdrawal_keys alter column key set statistics 0;
