-- When a key was last used, apart from the keys: those are copied to every node of a Citus cluster,
-- so writing there at each use would need all of them.

create table signalbox_store.tracker_key_uses (
  tracker_id uuid not null,
  key_digest bytea not null,
  last_used_at timestamptz not null,
  primary key (tracker_id, key_digest)
);

insert into signalbox_store.tracker_key_uses (tracker_id, key_digest, last_used_at)
select tracker_id, key_digest, last_used_at from tracker_keys where last_used_at is not null;

alter table tracker_keys drop column last_used_at;
