-- Earlier versions stored a token for an address in free text that was the same in every event of a
-- tracker. A job replaces these tokens by random ones, tracker by tracker, and deletes the row of a
-- tracker at the end; see text-token-store.ts. Processes of the version before may go on storing
-- such tokens for a while.
create table signalbox_store.free_text_scans (
  tracker_id uuid primary key,
  scanned_to timestamptz not null,
  until timestamptz not null
);

comment on column signalbox_store.free_text_scans.scanned_to is
  'events received until then have random tokens';

insert into signalbox_store.free_text_scans (tracker_id, scanned_to, until)
select id, '-infinity', now() + interval '7 days' from trackers;
