-- One identity at the OpenID provider of a company belongs to one account, also when a person opens
-- the way back from the provider twice at the same time.
create unique index accounts_by_identity on people.accounts (provider_id, account_id)
  where provider_id = 'oidc';
