import { randomBytes } from 'node:crypto'
import { seedSimulatedAccount } from '../agents/executor/simulated-account-store.ts'
import type { Database, Transaction } from '../db/database.ts'
import { bindDestination } from '../delivery/destination-store.ts'
import { type AdAccount, insertAdAccount, listAdAccounts } from '../people/ad-account-store.ts'
import { createPasswordHash } from '../people/auth-library.ts'
import { findPersonByEmail, insertPerson, setPassword } from '../people/person-store.ts'
import { insertMember, listMembers } from '../people/workspace-store.ts'

/** 24 characters of base64url: 144 random bits. */
const PASSWORD_BYTES = 18

export interface OwnerRequest {
  workspaceId: number
  email: string
  /** The password stands in a file: where the service is public it is good for one sign-in. */
  mustChangePassword: boolean
  at: Date
}

/**
 * Makes somebody an owner of a workspace, and an account for them if they have none. Returns their
 * password when it was made here, else null: they have one that only they know.
 */
export async function provisionOwner(
  database: Database,
  { workspaceId, email, mustChangePassword, at }: OwnerRequest,
): Promise<string | null> {
  const known = await findPersonByEmail(database, email)
  const password = known ? null : generatePassword()
  const hash = password === null ? null : await createPasswordHash(password)
  await database.query.transaction().execute(async query => {
    const person = { email, name: 'Owner', mustChangePassword, createdAt: at }
    const made =
      hash === null ? null : await insertPerson({ query }, { ...person, passwordHash: hash })
    const userId = known?.userId ?? made
    if (userId === null) throw new Error('two programs made the same owner at once')
    await insertMember({ query }, { workspaceId, userId, role: 'owner', createdAt: at })
  })
  return password
}

/**
 * The demo's owner. No mail can reach this name (RFC 2606), so no mailed link opens the account.
 */
export const DEMO_OWNER = 'owner@demo.example'

export interface OwnerCredentials {
  owner_email: string | null
  /** The first one; the owner may have another by now. Null with the address. */
  owner_password: string | null
}

/**
 * The owner that the demo's file names. A file that lost them gets the same owner with a new
 * password, as it gets a new secret. A workspace that has owners of its own gets no other.
 */
export async function provisionDemoOwner(
  database: Database,
  request: Omit<OwnerRequest, 'email'>,
  known: Partial<OwnerCredentials>,
): Promise<OwnerCredentials> {
  const members = await listMembers(database, request.workspaceId)
  const owners = members.filter(({ role }) => role === 'owner')
  const named = owners.find(({ email }) => email === known.owner_email)
  const { owner_email = null, owner_password = null } = known
  if (named && owner_password !== null) return { owner_email, owner_password }
  const demo = owners.find(({ email }) => email === DEMO_OWNER)
  if (owners.length > 0 && !demo) return { owner_email: null, owner_password: null }
  const made = demo ? null : await provisionOwner(database, { ...request, email: DEMO_OWNER })
  const kept = owner_email === DEMO_OWNER ? owner_password : null
  const password = made ?? kept ?? (await resetDemoPassword(database, request))
  return { owner_email: DEMO_OWNER, owner_password: password }
}

async function resetDemoPassword(
  database: Database,
  { mustChangePassword, at }: Omit<OwnerRequest, 'email'>,
): Promise<string> {
  const person = await findPersonByEmail(database, DEMO_OWNER)
  const password = generatePassword()
  const hash = await createPasswordHash(password)
  if (person) {
    await setPassword(database, person.userId, { passwordHash: hash, at, mustChangePassword })
  }
  return password
}

export interface DemoAdAccountRequest {
  workspaceId: number
  trackerId: string
  destinationId: string
  at: Date
}

/**
 * The ad account of the demo, with its destination bound to it and its campaigns, which one that an
 * earlier version made has not got: the one that the file names, else the first that is there.
 */
export async function provisionDemoAdAccount(
  database: Database,
  { workspaceId, trackerId, destinationId, at }: DemoAdAccountRequest,
  knownId?: number | null,
): Promise<number> {
  const accounts = await listAdAccounts(database, workspaceId)
  const found = accounts.find(({ id }) => id === knownId) ?? accounts[0]
  const account = await database.query.transaction().execute(async query => {
    const made = found ?? (await createDemoAdAccount({ query }, workspaceId, at))
    const { id: adAccountId, platformAccountId, name } = made
    await seedSimulatedAccount({ query }, { adAccountId, platformAccountId, name, at })
    return made
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
    ...{ workspaceId, platform: 'meta', platformAccountId: '1000000001' },
    ...{ name: 'Demo ad account', currency: 'EUR', timeZone: 'UTC', createdAt },
  })
  if (!account) throw new Error('two programs made the same ad account at once')
  return account
}

function generatePassword(): string {
  return randomBytes(PASSWORD_BYTES).toString('base64url')
}
