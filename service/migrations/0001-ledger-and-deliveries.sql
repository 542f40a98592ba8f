-- The event ledger, the identity payload beside it, and the deliveries.
--
-- Every tracker-scoped table carries tracker_id first in its primary key and in every unique
-- constraint, so that Citus can shard by tracker (docs/decisions/0004).

create table workspaces (
  id integer generated always as identity primary key,
  name text not null,
  created_at timestamptz not null
);

create table trackers (
  id uuid primary key,
  workspace_id integer not null references workspaces (id),
  name text not null,
  created_at timestamptz not null
);

-- A key is 256 random bits; only its SHA-256 is kept. The digest is unique by chance alone.
create table tracker_keys (
  tracker_id uuid not null references trackers (id),
  key_digest bytea not null,
  kind text not null,
  last_characters text not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  last_used_at timestamptz,
  primary key (tracker_id, key_digest)
);
create index tracker_keys_by_digest on tracker_keys (key_digest);

create table destinations (
  tracker_id uuid not null references trackers (id),
  id uuid not null,
  type text not null,
  credential_source text not null,
  config jsonb not null,
  platform_ad_account_id integer,
  sealed_credential bytea not null,
  status text not null,
  status_reason text,
  next_probe_at timestamptz,
  failed_probes integer not null default 0,
  test_event_code text,
  test_mode_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tracker_id, id)
);

-- Delivery ids are counted per tracker, so that they stay within 32 bits. A process takes them in
-- blocks, in a statement of its own, so that no commit waits for another one's counter.
create table delivery_id_counters (
  tracker_id uuid primary key references trackers (id),
  last_id integer not null
);

-- The ledger. It holds no identity: what may expire is in event_payloads.
create table events (
  tracker_id uuid not null,
  event_id text not null,
  created_at timestamptz not null,
  event_time timestamptz not null,
  event_name text not null,
  event_class text not null,
  action_source text not null,
  consent_basis text not null,
  measurement_class text not null,
  attribution_join text not null,
  enforcement_scope text not null,
  consent_normalization_version text not null,
  consent_captured_at timestamptz,
  event_source text,
  parent_event_id text,
  order_id text,
  value_amount numeric,
  value_currency text,
  value_data json,
  consent json,
  notes json,
  body_digest bytea not null,
  differing_submissions integer not null default 0,
  last_differing_at timestamptz,
  primary key (tracker_id, event_id)
);
create index events_by_parent on events (tracker_id, parent_event_id)
  where parent_event_id is not null;

-- The identity payload, one partition a day, so that expiry drops tables instead of deleting rows.
-- The default partition keeps a row when nobody has made the day's partition yet.
create table event_payloads (
  tracker_id uuid not null,
  event_id text not null,
  received_on date not null,
  visitor_id text,
  user_data json not null,
  click_ids json not null,
  primary key (tracker_id, event_id, received_on)
) partition by range (received_on);
create index event_payloads_by_visitor on event_payloads (tracker_id, visitor_id)
  where visitor_id is not null;
create table event_payloads_default partition of event_payloads default;

create table sessions (
  tracker_id uuid not null,
  visitor_id text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  landing_source text,
  click_ids json not null,
  primary key (tracker_id, visitor_id)
);

create table consent_withdrawals (
  tracker_id uuid not null,
  visitor_id text not null,
  withdrawn_at timestamptz not null,
  primary key (tracker_id, visitor_id)
);

-- The deliveries are the queue. next_attempt_at is set while a delivery waits and null once it is
-- settled, so the lane index holds only what is waiting. A claim writes the lease and the status,
-- which no index covers: it stays a heap-only update.
create table deliveries (
  tracker_id uuid not null,
  event_id text not null,
  id integer not null,
  destination_id uuid,
  status text not null,
  status_reason text not null,
  is_test boolean not null,
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  leased_until timestamptz,
  first_sent_at timestamptz,
  last_error json,
  platform_trace_id text,
  attempt_ids uuid[] not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz,
  primary key (tracker_id, event_id, id)
) with (fillfactor = 60);
create index deliveries_by_lane on deliveries (tracker_id, destination_id, next_attempt_at)
  where next_attempt_at is not null;

-- One row a request to the platform; a delivery names the requests that carried it.
create table send_attempts (
  tracker_id uuid not null,
  id uuid not null,
  destination_id uuid not null,
  started_at timestamptz not null,
  duration_milliseconds integer not null,
  event_count integer not null,
  is_test boolean not null,
  outcome text not null,
  http_status integer,
  trace_id text,
  answer json,
  primary key (tracker_id, id)
);
