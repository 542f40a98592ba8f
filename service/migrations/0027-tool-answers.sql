-- The last answers of tools to each credential, against which the evidence of a proposal is checked.
-- Each answer and the number of answers are limited; newer ones replace them.
create table agent_tool_answers (
  id bigint generated always as identity primary key,
  principal_kind text not null check (principal_kind in ('connection', 'execution_token')),
  principal_id integer not null,
  tool text not null,
  answered_at timestamptz not null,
  answer jsonb
);
comment on column agent_tool_answers.answer is 'null: too long to keep';
create index agent_tool_answers_by_principal
  on agent_tool_answers (principal_kind, principal_id, tool, id);
