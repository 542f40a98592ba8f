import { findTracker, listKeys, listLiveKeys, type TrackerIdentity } from '../access/store.ts'
import { issueKey, LIVE_KEYS_MAX, revokeKeyByLastCharacters } from '../access/tracker-keys.ts'
import { type AuditTrail, createAuditTrail } from '../audit/audit-store.ts'
import { deriveAuditKeys } from '../audit/signed-head.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { reserveCredentialsFile, writeKeyFile } from '../provisioning/credentials-file.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { type KeyCommand, keyCommand, kindName } from './key-command.ts'
import { KEY_HEAD, keyLine } from './key-line.ts'
import { openStore } from './open-store.ts'
import type { RoleContext } from './role.ts'
import { StartError } from './start-error.ts'

/** Looks after the keys of a tracker: lists them, issues one into a file, revokes one. */
export async function runKey(context: RoleContext, argumentList: readonly string[]): Promise<void> {
  const command = keyCommand(argumentList)
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'key', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    const { trackerId } = command
    const tracker = await findTracker(store.database, trackerId)
    if (!tracker) throw new StartError(`There is no tracker ${trackerId} here.`)
    const work = { ...context, database: store.database, tracker }
    if (command.task === 'list') return await list(work)
    // The key that everybody else signs with: an entry signed with another would look forged.
    const audit = createAuditTrail(deriveAuditKeys(loadCredentialKeys(settings, 'refuse')))
    switch (command.task) {
      case 'issue':
        return await issue({ ...work, audit }, command)
      case 'revoke':
        return await revoke({ ...work, audit }, command)
    }
  } finally {
    await store.close()
  }
}

interface Work extends RoleContext {
  database: Database
  tracker: TrackerIdentity
}

interface Change extends Work {
  audit: AuditTrail
}

async function list({ database, tell, tracker }: Work): Promise<void> {
  const keys = await listKeys(database, tracker.trackerId)
  tell([KEY_HEAD, ...keys.map(keyLine)].join(''))
}

async function issue(
  { database, audit, now, tell, tracker }: Change,
  { kind, origins, path }: Extract<KeyCommand, { task: 'issue' }>,
): Promise<void> {
  const live = await listLiveKeys(database, tracker.trackerId, kind)
  if (live.length >= LIVE_KEYS_MAX) {
    throw new StartError(
      `The tracker has ${LIVE_KEYS_MAX} live keys of the kind ${kindName(kind)}: revoke one first.`,
    )
  }
  const giveBack = reserveCredentialsFile(path)
  const key = { ...tracker, kind, origins, issuedAt: now() }
  const issued = await issueKey({ database, audit }, key).catch(error => {
    giveBack()
    throw error
  })
  writeKeyFile(path, { tracker_id: tracker.trackerId, [MEMBERS[kind]]: issued })
  tell(`The new key is in ${path}; those before it stay valid.\n`)
}

/** As in credentials.json, so that what reads the one reads the other. */
const MEMBERS = {
  publishable: 'publishable_key',
  forwarding: 'forwarding_secret',
  tracker_secret: 'tracker_secret',
} as const

async function revoke(
  { database, audit, now, tell, tracker }: Change,
  { lastCharacters, kind }: Extract<KeyCommand, { task: 'revoke' }>,
): Promise<void> {
  const named = { ...tracker, lastCharacters, kind, revokedAt: now() }
  const count = await revokeKeyByLastCharacters({ database, audit }, named)
  if (count === 0) throw new StartError(`No live key of the tracker ends in ${lastCharacters}.`)
  if (count > 1) {
    throw new StartError(`${count} live keys of the tracker end in ${lastCharacters}: add --kind.`)
  }
  tell(`The key that ends in ${lastCharacters} is revoked: it opens nothing from now on.\n`)
}
