import { randomBytes } from 'node:crypto'
import type { Database } from '../service/db/database.ts'
import { insertAdAccount } from '../service/people/ad-account-store.ts'
import { createPasswordHash } from '../service/people/auth-library.ts'
import { insertPerson } from '../service/people/person-store.ts'
import { hashSessionToken, sessionCookieName } from '../service/people/session-token.ts'
import type { WorkspaceRole } from '../service/people/workspace-role.ts'
import { insertMember, insertWorkspace } from '../service/people/workspace-store.ts'
import { BrowserClient } from './browser-client.ts'
import type { TestClock } from './test-clock.ts'

/** Where people are made: a `ServiceUnderTest` is one. */
export interface Installation {
  url: string
  database: Database
  clock: TestClock
}

export interface PersonUnderTest {
  userId: number
  email: string
  name: string
  password: string
  /** Signed in. */
  client: BrowserClient
}

export const TEST_PASSWORD = 'correct horse battery'
const SESSION_DAYS = 14

/** One hash for all: it takes a tenth of a second, and nobody is protected by it here. */
let hash: Promise<string> | null = null

/** Somebody with a verified address who is signed in, without the way through pages and mails. */
export async function personUnderTest(
  service: Installation,
  { email = `${randomBytes(6).toString('hex')}@people.example`, name = 'Ada Example' } = {},
): Promise<PersonUnderTest> {
  hash ??= createPasswordHash(TEST_PASSWORD)
  const userId = await insertPerson(service.database, {
    email,
    name,
    passwordHash: await hash,
    mustChangePassword: false,
    createdAt: service.clock.now(),
  })
  if (userId === null) throw new Error(`${email} is there already`)
  const client = await signedInClient(service, userId)
  return { userId, email, name, password: TEST_PASSWORD, client }
}

/** One more browser in which this person is signed in. */
export async function signedInClient(
  { url, database, clock }: Installation,
  userId: number,
): Promise<BrowserClient> {
  const token = randomBytes(16).toString('hex')
  const at = clock.now()
  const expiresAt = new Date(at.getTime() + SESSION_DAYS * 86_400_000)
  await database.pool.query(
    `insert into people.sessions (token, user_id, created_at, updated_at, expires_at)
     values ($1, $2, $3, $3, $4)`,
    [hashSessionToken(token), userId, at, expiresAt],
  )
  const client = new BrowserClient(url)
  client.cookies.set(sessionCookieName(url), token)
  return client
}

export interface WorkspaceUnderTest {
  workspaceId: number
  workspaceName: string
  adAccountId: number
  owner: PersonUnderTest
}

/** A workspace with an owner who is signed in and one active ad account. */
export async function workspaceUnderTest(
  service: Installation,
  { name = 'Shop', owner }: { name?: string; owner?: PersonUnderTest } = {},
): Promise<WorkspaceUnderTest> {
  const person = owner ?? (await personUnderTest(service))
  const createdAt = service.clock.now()
  const workspaceId = await insertWorkspace(service.database, { name, createdAt })
  await addMember(service, { workspaceId, userId: person.userId, role: 'owner' })
  const adAccountId = await addAdAccount(service, workspaceId)
  return { workspaceId, workspaceName: name, adAccountId, owner: person }
}

export async function addMember(
  { database, clock }: Installation,
  member: { workspaceId: number; userId: number; role: WorkspaceRole },
): Promise<void> {
  await insertMember(database, { ...member, createdAt: clock.now() })
}

/** One more active ad account; returns its id. */
export async function addAdAccount(
  { database, clock }: Installation,
  workspaceId: number,
  name = 'Shop EU',
): Promise<number> {
  const account = await insertAdAccount(database, {
    workspaceId,
    platform: 'meta',
    platformAccountId: String(BigInt(`0x${randomBytes(6).toString('hex')}`) + 10n ** 14n),
    name,
    currency: 'EUR',
    timeZone: 'Europe/Berlin',
    createdAt: clock.now(),
  })
  if (!account) throw new Error('two random numbers were the same')
  return account.id
}
