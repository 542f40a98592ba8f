-- Visitor IDs are stored without the spaces around them. Rows of earlier versions are copied to the
-- trimmed ID, so that their withdrawals and sessions still apply; the old rows stay for processes of
-- an earlier version. One sequential scan of each table, without a lock that blocks writers.

insert into consent_withdrawals (tracker_id, visitor_id, withdrawn_at)
select tracker_id, btrim(visitor_id, E' \t\r\n'), max(withdrawn_at)
from consent_withdrawals
where visitor_id <> btrim(visitor_id, E' \t\r\n') and btrim(visitor_id, E' \t\r\n') <> ''
  and visitor_id not like ' keyed:%'
group by 1, 2
on conflict (tracker_id, visitor_id) do update
  set withdrawn_at = greatest(consent_withdrawals.withdrawn_at, excluded.withdrawn_at);

insert into sessions (tracker_id, visitor_id, first_seen_at, last_seen_at, landing_source, click_ids)
select distinct on (tracker_id, btrim(visitor_id, E' \t\r\n'))
  tracker_id, btrim(visitor_id, E' \t\r\n'), first_seen_at, last_seen_at, landing_source, click_ids
from sessions
where visitor_id <> btrim(visitor_id, E' \t\r\n') and btrim(visitor_id, E' \t\r\n') <> ''
order by tracker_id, btrim(visitor_id, E' \t\r\n'), last_seen_at desc
on conflict (tracker_id, visitor_id) do nothing;
