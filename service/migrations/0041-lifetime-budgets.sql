-- What a simulated campaign may spend in its life, beside its daily budget. A version that does not
-- know this column simulates spend without an end.
alter table ad_entities add column lifetime_budget_minor integer
  check (lifetime_budget_minor is null or (lifetime_budget_minor > 0 and type = 'campaign'));
