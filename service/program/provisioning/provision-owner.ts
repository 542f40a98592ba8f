import { randomBytes } from 'node:crypto'
import { seedSimulatedAccount } from '../../agents/campaigns/simulated-account-store.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { bindDestination } from '../../signals/delivery/destination-store.ts'
import {
  type AdAccount,
  insertAdAccount,
  listAdAccounts,
} from '../../workspaces/users/ad-account-store.ts'
import { AD_PLATFORM } from '../../workspaces/users/ad-accounts.ts'
import { createPasswordHash } from '../../workspaces/users/password-hash.ts'
import { findUserByEmail, insertUser, setPassword } from '../../workspaces/users/user-store.ts'
import {
  findMemberRole,
  insertMember,
  listMembers,
  lockMembers,
  updateMemberRole,
} from '../../workspaces/users/workspace-store.ts'

/** 24 characters of base64url: 144 random bits. */
const PASSWORD_BYTES = 18

interface OwnerRequest {
  workspaceId: number
  email: string
  /** On a public service, the generated password in the file is only good for one sign-in. */
  mustChangePassword: boolean
  at: Date
}

/**
 * Makes a person an owner of a workspace, and creates their account if they have none. Returns the
 * password of a new account, else null.
 */
export async function provisionOwner(
  database: Database,
  { workspaceId, email, mustChangePassword, at }: OwnerRequest,
): Promise<string | null> {
  const existing = await findUserByEmail(database, email)
  const password = existing ? null : generatePassword()
  const hash = password === null ? null : await createPasswordHash(password)
  await database.query.transaction().execute(async query => {
    const user = { email, name: 'Owner', mustChangePassword, createdAt: at }
    const inserted =
      hash === null ? null : await insertUser({ query }, { ...user, passwordHash: hash })
    const userId = existing?.userId ?? inserted
    if (userId === null) throw new Error('two processes created the same owner concurrently')
    await insertMember({ query }, { workspaceId, userId, role: 'owner', createdAt: at })
  })
  return password
}

/**
 * - unknown_workspace: there is no workspace with this ID.
 * - owner_already: nothing changes.
 * - added: `password` is that of a new account, else null.
 */
export type AddedOwner =
  | { result: 'unknown_workspace' | 'owner_already' }
  | { result: 'added'; password: string | null }

/**
 * Makes a person an owner of a workspace that exists, with an entry in its audit log. Creates their
 * account if they have none: its generated password is only good for one sign-in.
 */
export async function addOwner(
  context: AuditedContext,
  { workspaceId, email, at }: Omit<OwnerRequest, 'mustChangePassword'>,
): Promise<AddedOwner> {
  const existing = await findUserByEmail(context.database, email)
  const password = existing ? null : generatePassword()
  const hash = password === null ? null : await createPasswordHash(password)
  return commitAudited(context, async (transaction, record) => {
    if (!(await lockMembers(transaction, workspaceId))) return { result: 'unknown_workspace' }
    const user = { email, name: 'Owner', mustChangePassword: true, createdAt: at }
    const userId =
      existing?.userId ??
      (hash === null ? null : await insertUser(transaction, { ...user, passwordHash: hash }))
    if (userId === null) throw new Error('two processes created the same owner concurrently')
    const roleBefore = await findMemberRole(transaction, { workspaceId, userId })
    if (roleBefore === 'owner') return { result: 'owner_already' }
    if (roleBefore === null) {
      await insertMember(transaction, { workspaceId, userId, role: 'owner', createdAt: at })
    } else {
      await updateMemberRole(transaction, { workspaceId, userId }, 'owner')
    }
    record({
      workspaceId,
      at,
      actor: { type: 'operator', id: null },
      action: roleBefore === null ? 'member.added' : 'member.role_changed',
      subject: { type: 'member', id: String(userId) },
      details: { role: 'owner', ...(roleBefore !== null && { role_before: roleBefore }) },
    })
    return { result: 'added', password }
  })
}

/** Email never reaches this domain (RFC 2606), so no emailed link opens the account. */
const DEMO_OWNER = 'owner@demo.example'

export interface OwnerCredentials {
  owner_email: string | null
  /** The generated password, which the owner may have changed. Null without an address. */
  owner_password: string | null
}

/**
 * Returns the owner that the credentials file names. A file without one gets the demo owner, with
 * a new password. A workspace with other owners gets no demo owner.
 */
export async function provisionDemoOwner(
  database: Database,
  request: Omit<OwnerRequest, 'email'>,
  known: Partial<OwnerCredentials>,
): Promise<OwnerCredentials> {
  const members = await listMembers(database, request.workspaceId)
  const owners = members.filter(({ role }) => role === 'owner')
  const current = owners.find(({ email }) => email === known.owner_email)
  const { owner_email = null, owner_password = null } = known
  if (current && owner_password !== null) return { owner_email, owner_password }
  const demo = owners.find(({ email }) => email === DEMO_OWNER)
  if (owners.length > 0 && !demo) return { owner_email: null, owner_password: null }
  const created = demo ? null : await provisionOwner(database, { ...request, email: DEMO_OWNER })
  const stored = owner_email === DEMO_OWNER ? owner_password : null
  const password = created ?? stored ?? (await resetDemoPassword(database, request))
  return { owner_email: DEMO_OWNER, owner_password: password }
}

async function resetDemoPassword(
  database: Database,
  { mustChangePassword, at }: Omit<OwnerRequest, 'email'>,
): Promise<string> {
  const user = await findUserByEmail(database, DEMO_OWNER)
  const password = generatePassword()
  const hash = await createPasswordHash(password)
  if (user) {
    await setPassword(database, user.userId, { passwordHash: hash, at, mustChangePassword })
  }
  return password
}

interface DemoAdAccountRequest {
  workspaceId: number
  trackerId: string
  destinationId: string
  at: Date
}

/**
 * Returns the ad account of the demo: the one that the file names, else the first, else a new one.
 * Binds the destination to it and adds missing campaigns, which earlier versions did not create.
 */
export async function provisionDemoAdAccount(
  database: Database,
  { workspaceId, trackerId, destinationId, at }: DemoAdAccountRequest,
  knownId?: number | null,
): Promise<number> {
  const accounts = await listAdAccounts(database, workspaceId)
  const found = accounts.find(({ id }) => id === knownId) ?? accounts[0]
  const account = await database.query.transaction().execute(async query => {
    const demo = found ?? (await createDemoAdAccount({ query }, workspaceId, at))
    const { id: adAccountId, platformAccountId, name } = demo
    await seedSimulatedAccount({ query }, { adAccountId, platformAccountId, name, at })
    return demo
  })
  await bindDestination(database, { trackerId, destinationId, adAccountId: account.id })
  return account.id
}

async function createDemoAdAccount(
  transaction: Transaction,
  workspaceId: number,
  createdAt: Date,
): Promise<AdAccount> {
  const account = await insertAdAccount(transaction, {
    workspaceId,
    platform: AD_PLATFORM,
    platformAccountId: '1000000001',
    name: 'Demo ad account',
    currency: 'EUR',
    timeZone: 'UTC',
    createdAt,
  })
  if (!account) throw new Error('two processes created the same ad account concurrently')
  return account
}

function generatePassword(): string {
  return randomBytes(PASSWORD_BYTES).toString('base64url')
}
