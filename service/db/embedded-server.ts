import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { freeMegabytes } from './disk-space.ts'
import type { ClusterPlace } from './embedded-cluster.ts'
import { type EmbeddedLog, openEmbeddedLog, readLogSince } from './embedded-log.ts'
import {
  EmbeddedPostgresError,
  lastComplaint,
  OTHER_DATABASE,
  type ServerPlace,
  type ServerTrouble,
  serverTrouble,
} from './embedded-postgres-error.ts'
import { serverSettings } from './embedded-server-settings.ts'
import { endServer } from './embedded-stop.ts'
import { findPostmaster, type Postmaster } from './postmaster-file.ts'
import { commandAs } from './unprivileged-account.ts'
import { waitUntil } from './wait-until.ts'

export type Launch =
  | { outcome: 'ready'; postmaster: Postmaster; ended: Promise<string> }
  | ({ outcome: 'failed' } & ServerTrouble)

/** After a crash the server replays up to 2 GB of its log before it lets anybody in. */
export const RECOVERY_SECONDS_MAX = 900

/**
 * Starts the server in a session of its own, so that neither Ctrl-C nor our death ends it, and
 * waits until it lets clients in. `ended` says how it ended, once it has.
 */
export async function launchServer(
  { account, binaries, folder }: ClusterPlace,
  cluster: string,
  port: number,
): Promise<Launch> {
  const settings = await serverSettings({ account, binaries, cluster, port })
  const log = openEmbeddedLog(folder)
  const command = commandAs(account, binaries.postgres, ['-D', cluster, ...settings])
  const child = spawn(command.file, command.args, {
    ...command.options,
    detached: true,
    stdio: ['ignore', log.file, log.file],
  })
  closeSync(log.file)
  child.unref()
  const end = endOf(child)
  const postmaster = await readyServer(child, cluster, end)
  if (postmaster) return { outcome: 'ready', postmaster, ended: end.sentence }
  if (end.error) {
    throw new EmbeddedPostgresError(`${command.file} cannot be started here: ${OTHER_DATABASE}`, {
      cause: end.error,
    })
  }
  return { outcome: 'failed', ...whyItEnded(log, { folder, cluster, port }) }
}

const WRITABLE_MEGABYTES_MIN = 1

function whyItEnded(log: EmbeddedLog, place: ServerPlace): ServerTrouble {
  const words = readLogSince(log.path, log.startsAt)
  // On a disk without a free block the server cannot even write down why it ends.
  const isSilenced =
    lastComplaint(words) === null && freeMegabytes(place.folder) < WRITABLE_MEGABYTES_MIN
  return serverTrouble(isSilenced ? 'No space left on device' : words, place)
}

interface ChildEnd {
  hasCome: boolean
  /** The program could not even be started. */
  error: Error | null
  sentence: Promise<string>
}

function endOf(child: ChildProcess): ChildEnd {
  const { promise, resolve } = Promise.withResolvers<string>()
  const end: ChildEnd = { hasCome: false, error: null, sentence: promise }
  child.once('error', error => {
    end.hasCome = true
    end.error = error
  })
  child.once('exit', (code, signal) => {
    end.hasCome = true
    resolve(signal ? `ended by the signal ${signal}` : `ended with the code ${code}`)
  })
  return end
}

/** The server once it lets clients in, or null when it ended instead. */
async function readyServer(
  child: ChildProcess,
  cluster: string,
  end: ChildEnd,
): Promise<Postmaster | null> {
  const seen: { server: Postmaster | null } = { server: null }
  const isDecided = () => {
    const found = findPostmaster(cluster)
    if (found?.processId === child.pid) seen.server = found
    return end.hasCome || seen.server?.status === 'ready'
  }
  if (await waitUntil(isDecided, { secondsMax: RECOVERY_SECONDS_MAX, everyMilliseconds: 25 })) {
    return end.hasCome ? null : seen.server
  }
  if (seen.server) await endServer(seen.server)
  throw new EmbeddedPostgresError(
    `PostgreSQL was not ready within ${RECOVERY_SECONDS_MAX} seconds: see postgres.log beside ` +
      `${cluster}, then start again.`,
  )
}
