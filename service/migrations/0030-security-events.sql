-- Sign-ins, failures and changes of passwords, for the operator's security monitoring. They name the
-- client's address, so they expire (SIGNALBOX_SECURITY_EVENT_RETENTION_DAYS), unlike the audit log.

create table security_events (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  type text not null,
  -- Null: the account is not known. No foreign key: a deleted person is a number without a target.
  user_id integer,
  -- IPv4, or the /64 of IPv6; null when the event has no request.
  client_address text,
  request_id text,
  details jsonb not null
);
create index security_events_by_time on security_events (at, id);
