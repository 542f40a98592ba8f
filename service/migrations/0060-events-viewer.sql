-- The role of an events viewer (docs/decisions/0066). A process of the version before refuses every
-- request of a person with this role, because its table of permissions has no row for it.
alter table members drop constraint members_role_check;
alter table members add constraint members_role_check
  check (role in ('owner', 'admin', 'member', 'viewer'));
alter table invitations drop constraint invitations_role_check;
alter table invitations add constraint invitations_role_check
  check (role in ('owner', 'admin', 'member', 'viewer'));
