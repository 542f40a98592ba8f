import { resignHeads } from '../audit/sign-heads.ts'
import { deriveAuditKeys } from '../audit/signed-head.ts'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import {
  everyDestination,
  findDestinationsOfId,
  resealCredentials,
  setCredential,
} from '../delivery/credential-store.ts'
import type { Destination } from '../delivery/destination-store.ts'
import { type CredentialKeys, openCredential } from '../delivery/sealed-credential.ts'
import { resealErasureKey } from '../erasure/erasure-key-store.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { readPlatformToken, rejectTokenArgument } from '../provisioning/platform-token.ts'
import { type CredentialCommand, credentialCommand } from './credential-command.ts'
import { CREDENTIAL_HEAD, credentialLine } from './credential-line.ts'
import { openStore } from './open-store.ts'
import type { RoleContext } from './role.ts'
import { StartError } from './start-error.ts'

type SetCommand = Extract<CredentialCommand, { kind: 'set' }>

/** Looks after the platform credentials of a store: lists them, sets one, changes their key. */
export async function runCredential(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  rejectTokenArgument(argumentList)
  const command = credentialCommand(argumentList)
  const { settings, logger } = context
  const store = await openStore({ settings, logger, role: 'credential', embedded: 'join' })
  try {
    await requireCurrentSchema(store.database)
    const work = {
      ...context,
      database: store.database,
      keys: loadCredentialKeys(settings, 'refuse'),
    }
    switch (command.kind) {
      case 'list':
        return await list(work)
      case 'reseal':
        return await reseal(work)
      case 'set':
        return await set(work, command)
    }
  } finally {
    await store.close()
  }
}

interface Work extends RoleContext {
  database: Database
  keys: CredentialKeys
}

async function list({ database, keys, tell }: Work): Promise<void> {
  tell(CREDENTIAL_HEAD)
  for await (const destination of everyDestination(database)) {
    tell(credentialLine(keys, destination))
  }
}

async function reseal({ database, keys, tell }: Work): Promise<void> {
  const { alreadyCurrent, resealed, unreadable } = await resealCredentials(database, keys)
  tell(`Already under the current key: ${alreadyCurrent}\nResealed: ${resealed}\n`)
  if (unreadable.length > 0) {
    tell(`Opened by no key: ${unreadable.length}\n${unreadable.map(id => `  ${id}\n`).join('')}`)
  }
  if (await resealErasureKey(database, keys)) tell('Resealed the key of erased identifiers.\n')
  const { resigned, unsigned } = await resignHeads(database, deriveAuditKeys(keys))
  if (resigned > 0) tell(`Audit logs signed anew: ${resigned}\n`)
  for (const id of unsigned) tell(`The audit log of workspace ${id} is signed by no key here.\n`)
  if (unreadable.length === 0) return
  throw new StartError(
    'Not every credential could be opened: add the key that sealed it to ' +
      'SIGNALBOX_CREDENTIAL_KEY_PREVIOUS, or set a new credential.',
  )
}

async function set({ database, keys, now, tell }: Work, command: SetCommand): Promise<void> {
  const destination = await findOne(database, command)
  const { trackerId, id: destinationId, sealedCredential } = destination
  const accessToken = await readPlatformToken(command.tokenFrom, process.stdin)
  const { config } = command
  await setCredential(database, keys, {
    trackerId,
    destinationId,
    accessToken,
    config,
    at: now(),
  })
  tell(`Destination ${destinationId} has its new credential; what waits for it goes out.\n`)
  if (openCredential(keys, destinationId, sealedCredential)) return
  tell('No key here opened its former one: make sure that the workers have the same key.\n')
}

async function findOne(
  database: Database,
  { destinationId, trackerId }: SetCommand,
): Promise<Destination> {
  const [found, another] = await findDestinationsOfId(database, { id: destinationId, trackerId })
  if (!found) throw new StartError(`There is no destination ${destinationId} here.`)
  if (another) {
    throw new StartError(`Several trackers have a destination ${destinationId}: add --tracker ID.`)
  }
  return found
}
