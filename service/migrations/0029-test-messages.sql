-- A test message of a webhook does not delay the next digest. A version that does not know the
-- column sends test messages that do.

alter table notification_messages add column is_test boolean not null default false;
