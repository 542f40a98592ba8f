import { issueKey, LIVE_KEYS_MAX } from '../access/issue-key.ts'
import { revokeNamedKey } from '../access/revoke-named-key.ts'
import { isTracker, listKeys, listLiveKeys } from '../access/store.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { reserveCredentialsFile, writeKeyFile } from '../provisioning/credentials-file.ts'
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
    if (!(await isTracker(store.database, trackerId))) {
      throw new StartError(`There is no tracker ${trackerId} here.`)
    }
    const work = { ...context, database: store.database }
    switch (command.task) {
      case 'list':
        return await list(work, trackerId)
      case 'issue':
        return await issue(work, command)
      case 'revoke':
        return await revoke(work, command)
    }
  } finally {
    await store.close()
  }
}

interface Work extends RoleContext {
  database: Database
}

async function list({ database, tell }: Work, trackerId: string): Promise<void> {
  const keys = await listKeys(database, trackerId)
  tell([KEY_HEAD, ...keys.map(keyLine)].join(''))
}

async function issue(
  { database, now, tell }: Work,
  { trackerId, kind, origins, path }: Extract<KeyCommand, { task: 'issue' }>,
): Promise<void> {
  const live = await listLiveKeys(database, trackerId, kind)
  if (live.length >= LIVE_KEYS_MAX) {
    throw new StartError(
      `The tracker has ${LIVE_KEYS_MAX} live keys of the kind ${kindName(kind)}: revoke one first.`,
    )
  }
  const giveBack = reserveCredentialsFile(path)
  const key = { trackerId, kind, origins, issuedAt: now() }
  const issued = await issueKey(database, key).catch(error => {
    giveBack()
    throw error
  })
  writeKeyFile(path, { tracker_id: trackerId, [MEMBERS[kind]]: issued })
  tell(`The new key is in ${path}; those before it stay valid.\n`)
}

/** As in credentials.json, so that what reads the one reads the other. */
const MEMBERS = {
  publishable: 'publishable_key',
  forwarding: 'forwarding_secret',
  tracker_secret: 'tracker_secret',
} as const

async function revoke(
  { database, now, tell }: Work,
  { trackerId, lastCharacters, kind }: Extract<KeyCommand, { task: 'revoke' }>,
): Promise<void> {
  const named = { trackerId, lastCharacters, kind, revokedAt: now() }
  const count = await revokeNamedKey(database, named)
  if (count === 0) throw new StartError(`No live key of the tracker ends in ${lastCharacters}.`)
  if (count > 1) {
    throw new StartError(`${count} live keys of the tracker end in ${lastCharacters}: add --kind.`)
  }
  tell(`The key that ends in ${lastCharacters} is revoked: it opens nothing from now on.\n`)
}
