-- Replays: which failed deliveries may be sent again, and which were.
--
-- replayable_until is the end of the platform's window, set when a delivery fails and cleared when
-- a replay takes it up, so that the index holds only what a replay may look at. Claims write none
-- of these columns: they stay heap-only updates.
alter table deliveries
  add column replayable_until timestamptz,
  add column replayed_at timestamptz,
  add column attempts_before_replay integer not null default 0;

update deliveries
set replayable_until = events.event_time
  + case events.action_source when 'physical_store' then interval '62 days' else interval '7 days' end
from events
where deliveries.status like 'failed:%'
  and events.tracker_id = deliveries.tracker_id and events.event_id = deliveries.event_id;

create index deliveries_by_failure on deliveries (tracker_id, replayable_until)
  where replayable_until is not null;
