-- The click IDs of a visitor by who named them: anyone can copy the key of a page and name a visitor
-- ID, so those of the tracker secret are apart. `click_ids` has what pages named, and what earlier
-- versions stored, which did not know the difference. Processes of earlier versions still write to
-- `click_ids` alone and ignore the new columns.
alter table sessions
  add column secret_click_ids json,
  add column page_click_ignored_at timestamptz;

comment on column sessions.secret_click_ids is
  'named with the tracker secret; they win over click_ids. Null: none';
comment on column sessions.page_click_ignored_at is
  'when a page last named another click ID than the first one, which is kept for a visitor ID that '
  'others may guess';

-- Values may identify a person who is erased later: see 0006-erasure.sql.
alter table sessions alter column secret_click_ids set statistics 0;
