import Type, { type Static } from 'typebox'
import { INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'
import { WORKSPACE_ROLES } from './roles.ts'

const id = (description: string) => Type.Integer({ minimum: 1, maximum: INTEGER_MAX, description })

/** The members of a list that tell its page. */
export const pageMembers = {
  page: Type.Integer({ minimum: 1 }),
  per_page: Type.Integer({ description: 'The fixed page size.' }),
  has_more: Type.Boolean({ description: 'Whether `?page=` with the next number has rows.' }),
}

const Role = stringEnum(WORKSPACE_ROLES)

export const Me = named(
  'Me',
  Type.Object({
    user_id: id('The person.'),
    session_id: id('The session of this request.'),
    name: Type.String(),
    email: Type.String(),
    is_email_verified: Type.Boolean(),
    is_identity_confirmed: Type.Boolean({
      description: 'Whether it was confirmed in the last 15 minutes, as sensitive changes require.',
    }),
  }),
)
export type Me = Static<typeof Me>

const Session = named(
  'Session',
  Type.Object({
    id: id('Its number among the sessions of this person.'),
    is_current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
    user_agent: nullable(Type.String()),
    created_at: timestamp('When the person signed in.'),
    expires_at: timestamp('When it expires.'),
  }),
)
export const SessionList = named('SessionList', Type.Object({ sessions: Type.Array(Session) }))
export type SessionList = Static<typeof SessionList>

const Workspace = named(
  'Workspace',
  Type.Object({
    id: id('The workspace.'),
    name: Type.String(),
    role: Role,
    requires_second_factor: Type.Boolean({
      description: 'Whether members open it only with a second factor.',
    }),
  }),
)
export const WorkspaceList = named(
  'WorkspaceList',
  Type.Object({ workspaces: Type.Array(Workspace) }),
)
export type WorkspaceList = Static<typeof WorkspaceList>

/** The service trims a name before it counts the characters, so the schema has no bounds. */
export const displayName = () => Type.String({ description: '1 to 100 visible characters.' })

export const WorkspaceSubmission = named(
  'WorkspaceSubmission',
  Type.Object({ name: displayName() }),
)

export const WorkspaceSecurity = named(
  'WorkspaceSecurity',
  Type.Object({ second_factor_required: Type.Boolean() }),
)

const Member = named(
  'Member',
  Type.Object({
    user_id: id('The person.'),
    name: Type.String(),
    email: Type.String(),
    role: Role,
    is_disabled: Type.Boolean(),
    created_at: timestamp('When they joined.'),
    waiting_role: nullable(
      Type.Object(
        { role: Role, from: timestamp('When they have the role, if nobody confirms it before.') },
        {
          description: 'The role of an invited owner or administrator, who is a member until then.',
        },
      ),
    ),
  }),
)
/** An events viewer gets the own row alone. */
export const MemberList = named('MemberList', Type.Object({ members: Type.Array(Member) }))
export type MemberList = Static<typeof MemberList>

export const RoleSubmission = named('RoleSubmission', Type.Object({ role: Role }))

const Invitation = named(
  'Invitation',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    workspace_id: id('The workspace that it is for.'),
    workspace_name: Type.String(),
    email: Type.String(),
    role: Role,
    inviter_name: Type.String(),
    created_at: timestamp('When it was created or renewed.'),
    expires_at: timestamp('When it expires.'),
  }),
)
export const InvitationList = named(
  'InvitationList',
  Type.Object({ invitations: Type.Array(Invitation), ...pageMembers }),
)
export type InvitationList = Static<typeof InvitationList>

export const InvitationSubmission = named(
  'InvitationSubmission',
  Type.Object({ email: Type.String(), role: Role }),
)
export const InvitationAnswer = named(
  'InvitationAnswer',
  Type.Object({
    answer: Type.Unsafe<'accepted' | 'declined'>({
      type: 'string',
      enum: ['accepted', 'declined'],
    }),
  }),
)

export const AdAccount = named(
  'AdAccount',
  Type.Object({
    id: id('The id in Signalbox, used by destinations and connections.'),
    platform: Type.String(),
    platform_account_id: Type.String({ description: "The platform's number of the ad account." }),
    name: Type.String(),
    currency: Type.String({ description: 'ISO 4217.' }),
    time_zone: Type.String({ description: 'IANA.' }),
    status: Type.Unsafe<'active' | 'disabled'>({ type: 'string', enum: ['active', 'disabled'] }),
    created_at: timestamp('When it was added.'),
  }),
)
export type AdAccount = Static<typeof AdAccount>
export const AdAccountList = named(
  'AdAccountList',
  Type.Object({ ad_accounts: Type.Array(AdAccount) }),
)
export type AdAccountList = Static<typeof AdAccountList>

export const AdAccountSubmission = named(
  'AdAccountSubmission',
  Type.Object({
    platform_account_id: Type.String(),
    name: displayName(),
    currency: Type.String(),
    time_zone: Type.String(),
  }),
)
export const AdAccountChange = named(
  'AdAccountChange',
  Type.Object({
    status: Type.Unsafe<'active' | 'disabled'>({ type: 'string', enum: ['active', 'disabled'] }),
  }),
)
export const Created = named('Created', Type.Object({ id: id('The id of the new object.') }))
export const CreatedInvitation = named(
  'CreatedInvitation',
  Type.Object({ id: Type.String({ format: 'uuid' }) }),
)
