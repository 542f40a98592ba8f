import Type, { type Static } from 'typebox'
import { INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'
import { PERMISSIONS, TIERS, TOKEN_DAYS, type TokenDays } from './agent-permissions.ts'
import { displayName, pageMembers } from './users.ts'

const id = (description: string) => Type.Integer({ minimum: 1, maximum: INTEGER_MAX, description })

const Permissions = Type.Array(stringEnum(PERMISSIONS))

const Connection = named(
  'Connection',
  Type.Object({
    id: id('The connection.'),
    name: Type.String({ description: 'The name that the workspace gave it.' }),
    client_name: Type.String({
      description: 'The name that the client gave itself; not verified.',
    }),
    audience: Type.String({ enum: ['mcp', 'agent'] }),
    permissions: Permissions,
    ad_account_id: id('The one ad account that it is bound to.'),
    ad_account_name: Type.String(),
    approved_by: Type.String({ description: 'Email of the person who approved it.' }),
    approved_at: timestamp('When it was first approved.'),
    last_used_at: nullable(Type.String({ format: 'date-time' })),
    revoked_at: nullable(Type.String({ format: 'date-time' })),
    needs_approval: Type.Boolean({
      description: 'Its ad account was changed; the agent must be approved again.',
    }),
  }),
)
export const ConnectionList = named(
  'ConnectionList',
  Type.Object({ connections: Type.Array(Connection), ...pageMembers }),
)
export type ConnectionList = Static<typeof ConnectionList>

/** Members that can be changed; omitted members do not change. */
export const ConnectionChange = named(
  'ConnectionChange',
  Type.Object({
    name: Type.Optional(displayName()),
    ad_account_id: Type.Optional(
      id('Another active ad account of the workspace. Revokes all tokens issued before.'),
    ),
  }),
)

const ExecutionToken = named(
  'ExecutionToken',
  Type.Object({
    id: id('The token.'),
    name: Type.String(),
    tier: stringEnum(TIERS),
    status: stringEnum(['active', 'expired', 'revoked']),
    last_characters: Type.String({ description: 'The last characters, to recognize the token.' }),
    ad_account_id: id('The one ad account that it is for.'),
    ad_account_name: Type.String(),
    issued_by: Type.String({ description: 'Email of the person who issued it.' }),
    created_at: timestamp('When it was issued.'),
    expires_at: timestamp('When it expires.'),
    last_used_at: nullable(Type.String({ format: 'date-time' })),
    revoked_at: nullable(Type.String({ format: 'date-time' })),
  }),
)
export const ExecutionTokenList = named(
  'ExecutionTokenList',
  Type.Object({ tokens: Type.Array(ExecutionToken), ...pageMembers }),
)
export type ExecutionTokenList = Static<typeof ExecutionTokenList>

export const ExecutionTokenSubmission = named(
  'ExecutionTokenSubmission',
  Type.Object({
    name: displayName(),
    ad_account_id: id('An active ad account of the workspace.'),
    tier: stringEnum(TIERS),
    days: Type.Unsafe<TokenDays>({ type: 'integer', enum: TOKEN_DAYS }),
  }),
)

export const IssuedExecutionToken = named(
  'IssuedExecutionToken',
  Type.Object({
    id: id('The token.'),
    token: Type.String({ description: 'Shown only once.' }),
    expires_at: timestamp('When it expires.'),
  }),
)
export type IssuedExecutionToken = Static<typeof IssuedExecutionToken>
