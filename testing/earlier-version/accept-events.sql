-- The statement by which version 0.5 (commit c7e7c81, service/signals/ingestion/commit-store.ts) stores events.
with

    misjudged as materialized (
      select presumed.tracker_id, presumed.event_id
      from unnest($40::uuid[], $41::text[], $42::text[]) as presumed(tracker_id, event_id,
visitor_id)
      cross join lateral (
        select true from consent_withdrawals
        where tracker_id = presumed.tracker_id and visitor_id = presumed.visitor_id limit 1
      ) withdrawal
      union
      select presumed.tracker_id, presumed.event_id
      from unnest($43::uuid[], $44::text[], $45::bytea[]) as presumed(tracker_id, event_id,
keyed_digest)
      cross join lateral (
        select true from erased_identifiers
        where tracker_id = presumed.tracker_id and keyed_digest = presumed.keyed_digest limit 1
      ) erased
      union
      select entry.tracker_id, entry.event_id
      from unnest($46::uuid[]) as presumed(tracker_id)
      join unnest($1::uuid[], $2::text[]) as entry(tracker_id, event_id) using (tracker_id)
      cross join lateral (
        select true from erased_identifiers where tracker_id = presumed.tracker_id limit 1
      ) erased
    ),
    inserted as (
      insert into events (tracker_id, event_id, created_at, event_time, event_name, event_class,
action_source, consent_basis, measurement_class, attribution_join, enforcement_scope,
consent_normalization_version, consent_captured_at, event_source, parent_event_id, order_id,
value_amount, value_currency, value_data, consent, notes, body_digest)
      select tracker_id, event_id, created_at, coalesce(event_time, created_at), event_name,
event_class, action_source, consent_basis, measurement_class, attribution_join,
enforcement_scope, consent_normalization_version, consent_captured_at, event_source,
parent_event_id, order_id, value_amount, value_currency, value_data, consent, notes, body_digest
from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::text[],
$7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[],
$14::text[], $15::text[], $16::text[], $17::numeric[], $18::text[], string_to_array($19::text,
E'\x1f', '')::json[], string_to_array($20::text, E'\x1f', '')::json[], string_to_array($21::text,
E'\x1f', '')::json[], $22::bytea[]) as entry(tracker_id, event_id, created_at, event_time,
event_name, event_class, action_source, consent_basis, measurement_class, attribution_join,
enforcement_scope, consent_normalization_version, consent_captured_at, event_source,
parent_event_id, order_id, value_amount, value_currency, value_data, consent, notes, body_digest)
      where not exists (
        select from misjudged
        where misjudged.tracker_id = entry.tracker_id and misjudged.event_id = entry.event_id
      )
      on conflict (tracker_id, event_id) do nothing
      returning tracker_id, event_id, created_at
    ),
    payloads as (
      insert into event_payloads
        (tracker_id, event_id, received_on, visitor_id, user_data, click_ids, page_url,
         identifier_keys)
      select tracker_id, event_id, (created_at at time zone 'UTC')::date, visitor_id, user_data,
click_ids,
        page_url, identifier_keys::integer[]
      from unnest($23::uuid[], $24::text[], $25::text[], string_to_array($26::text, E'\x1f',
'')::json[], string_to_array($27::text, E'\x1f', '')::json[], $28::text[], $29::text[]) as
payload(tracker_id, event_id, visitor_id, user_data, click_ids, page_url, identifier_keys)
      join inserted using (tracker_id, event_id)
    ),
    sightings as (
      insert into sessions
        (tracker_id, visitor_id, first_seen_at, last_seen_at, landing_source, click_ids)
      select distinct on (tracker_id, visitor_id)
        tracker_id, visitor_id, coalesce(first_seen_at, created_at), created_at, landing_source,
        click_ids
      from unnest($30::uuid[], $31::text[], $32::text[], $33::integer[], $34::timestamptz[],
$35::text[], string_to_array($36::text, E'\x1f', '')::json[]) as sighting(tracker_id, event_id,
visitor_id, ordinal, first_seen_at, landing_source, click_ids)
      join inserted using (tracker_id, event_id)
      order by tracker_id, visitor_id, ordinal desc
      on conflict (tracker_id, visitor_id) do update set
        last_seen_at = greatest(sessions.last_seen_at, excluded.last_seen_at),
        landing_source = coalesce(sessions.landing_source, excluded.landing_source),
        click_ids = (sessions.click_ids::jsonb || excluded.click_ids::jsonb || case
          when split_part(sessions.click_ids ->> 'fbc', '.', 4) =
               split_part(excluded.click_ids ->> 'fbc', '.', 4)
          then jsonb_build_object('fbc', sessions.click_ids ->> 'fbc') else '{}' end)::json
    ),
    withdrawals as (
      insert into consent_withdrawals (tracker_id, visitor_id, withdrawn_at)
      select tracker_id, visitor_id, max(created_at)
      from unnest($37::uuid[], $38::text[], $39::text[]) as withdrawal(tracker_id, event_id,
visitor_id)
      join inserted using (tracker_id, event_id)
      group by tracker_id, visitor_id order by tracker_id, visitor_id
      on conflict (tracker_id, visitor_id) do update
        set withdrawn_at = greatest(consent_withdrawals.withdrawn_at, excluded.withdrawn_at)
    ),
    counted as (
      insert into event_counts (tracker_id, received_on, slot, events)
      select tracker_id, (created_at at time zone 'UTC')::date, pg_backend_pid() % 8, count(*)
      from inserted group by 1, 2 order by 1, 2
      on conflict (tracker_id, received_on, slot) do update
        set events = event_counts.events + excluded.events
    ),
    planned as (
      insert into deliveries
        (tracker_id, event_id, id, destination_id, status, status_reason, is_test,
         next_attempt_at, created_at)
      select tracker_id, event_id, plan.id, plan.destination_id, plan.status, plan.status_reason,
        plan.is_test,
        case when plan.status = 'queued' then coalesce(plan.due_at, plan.created_at) end,
        plan.created_at
      from unnest($47::uuid[], $48::text[], $49::integer[], $50::uuid[], $51::text[],
$52::text[], $53::boolean[], $54::timestamptz[], $55::timestamptz[]) as plan(tracker_id,
event_id, id, destination_id, status, status_reason, is_test, created_at, due_at)
      join inserted using (tracker_id, event_id)
      returning tracker_id, created_at, status, is_test
    ),
    counted_plans as (
      insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
      select tracker_id, (created_at at time zone 'UTC')::date, pg_backend_pid() % 8, count(*), 0
      from planned where not is_test and status not like 'skipped:%' group by 1, 2 order by 1, 2
      on conflict (tracker_id, planned_on, slot) do update
        set planned = delivery_counts.planned + excluded.planned
    )
  select entry.tracker_id, entry.event_id, exists (
    select from misjudged
    where misjudged.tracker_id = entry.tracker_id and misjudged.event_id = entry.event_id
  ) as is_misjudged
  from unnest($1::uuid[], $2::text[]) as entry(tracker_id, event_id)
  where not exists (
    select from inserted
    where inserted.tracker_id = entry.tracker_id and inserted.event_id = entry.event_id
  )
