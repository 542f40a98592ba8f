-- Erasure by digest (docs/decisions/0011).
--
-- identifier_keys holds a number for every digest by which the person of an event can be asked for
-- (indexKey in service/signals/events/person-identifiers.ts), their visitor id's included, which is why the index
-- by visitor goes. 0 marks a row whose digests are not all in it, such as one that a process of the
-- version before writes: it is looked at whenever somebody is erased.
alter table event_payloads
  add column identifier_keys integer[] not null default '{0}';

update event_payloads payload set identifier_keys = array(
  select distinct case
    when digest ~* '^[0-9a-f]{64}$'
      then (('x' || left(digest, 8))::bit(32)::bigint >> 14)::integer + 1
    else 0
  end
  from (
    select json_array_elements_text(payload.user_data -> 'digests' -> kind)
    from unnest(array['em', 'ph', 'external_id']) kind
    where json_typeof(payload.user_data -> 'digests' -> kind) = 'array'
    union all
    select case
      when payload.visitor_id like 'sha256:%' then substr(payload.visitor_id, 8)
      when payload.visitor_id ~ '^ *[0-9A-Fa-f]{64}(\.([A-Za-z0-9_-]{8}|AQ|Ag|Aw|BA|BQ|Bg))? *$'
        then left(btrim(payload.visitor_id), 64)
      -- Only of plain text is it sure that PostgreSQL folds it as the service does.
      when payload.visitor_id ~ '^[!-~]([ -~]*[!-~])?$'
        then encode(sha256(convert_to(lower(payload.visitor_id collate "C"), 'UTF8')), 'hex')
      else ''
    end
    where payload.visitor_id is not null
  ) identifier(digest)
);

create index event_payloads_by_identifier on event_payloads using gin (identifier_keys);
drop index event_payloads_by_visitor;

-- ANALYZE keeps samples of the values of a column, and would go on keeping those of somebody who was
-- erased. Nothing is searched by these columns but by whole keys, so nobody misses the samples. A
-- target of 0 leaves the samples that there are; setting the type, to what it is, throws them away.
alter table event_payloads
  alter column visitor_id set statistics 0, alter column visitor_id set data type text;
alter table sessions
  alter column visitor_id set statistics 0, alter column visitor_id set data type text,
  alter column landing_source set statistics 0, alter column landing_source set data type text;
alter table consent_withdrawals
  alter column visitor_id set statistics 0, alter column visitor_id set data type text;
alter table events
  alter column event_source set statistics 0, alter column event_source set data type text,
  alter column body_digest set statistics 0, alter column body_digest set data type bytea;

-- The digests of erased people, under a key: later events that bear one are stored without identity.
create table erased_identifiers (
  tracker_id uuid not null,
  keyed_digest bytea not null,
  erased_at timestamptz not null,
  primary key (tracker_id, keyed_digest)
);

-- That key, sealed with the credential key. There is one.
create table erasure_keys (
  id integer primary key check (id = 1),
  sealed_key bytea not null,
  created_at timestamptz not null
);

-- The receipts. One a digest, however often it is asked for.
create table deletion_requests (
  tracker_id uuid not null,
  keyed_digest bytea not null,
  id text not null,
  requests integer not null,
  events_updated integer not null,
  sessions_updated integer not null,
  created_at timestamptz not null,
  completed_at timestamptz not null,
  primary key (tracker_id, keyed_digest),
  unique (tracker_id, id)
);
