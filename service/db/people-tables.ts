import type { Generated } from 'kysely'

/** The tables of the schema `people`. better-auth writes them, but for what is marked as ours. */
export interface PeopleTables {
  'people.users': {
    id: Generated<number>
    name: string
    email: string
    email_verified: boolean
    image: string | null
    created_at: Generated<Date>
    updated_at: Generated<Date>
    status: Generated<string>
    must_change_password: Generated<boolean>
  }
  'people.sessions': {
    id: Generated<number>
    expires_at: Date
    token: string
    created_at: Generated<Date>
    updated_at: Date
    ip_address: string | null
    user_agent: string | null
    user_id: number
  }
  'people.accounts': {
    id: Generated<number>
    account_id: string
    provider_id: string
    user_id: number
    access_token: string | null
    refresh_token: string | null
    id_token: string | null
    access_token_expires_at: Date | null
    refresh_token_expires_at: Date | null
    scope: string | null
    password: string | null
    created_at: Generated<Date>
    updated_at: Date
  }
  'people.verifications': {
    id: Generated<number>
    identifier: string
    value: string
    expires_at: Date
    created_at: Generated<Date>
    updated_at: Generated<Date>
  }
}
