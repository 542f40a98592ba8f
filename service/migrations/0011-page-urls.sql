-- The ledger keeps the address of a page; its query and fragment, where click ids stand, are identity and
-- lie in the payload, so that they expire with it.
alter table event_payloads add column page_url text;
alter table event_payloads alter column page_url set statistics 0;

update event_payloads payload set page_url = events.event_source
from events
where events.tracker_id = payload.tracker_id and events.event_id = payload.event_id
  and events.event_source ~ '[?#]';

update events set event_source = substring(event_source from '^[^?#]*')
where event_source ~ '[?#]';
