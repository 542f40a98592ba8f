import { clusterPath } from './embedded-cluster.ts'
import { openEmbeddedDatabase } from './embedded-database.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { RECOVERY_SECONDS_MAX } from './embedded-server.ts'
import { endServer } from './embedded-stop.ts'
import { disarmPostmasterFile, findPostmaster, type Postmaster } from './postmaster-file.ts'
import { waitUntil } from './wait-until.ts'

export interface Adoption {
  postmaster: Postmaster
  connectionString: string
}

/**
 * Takes over the server that a killed service left behind. One that is going down, that listens
 * on another port than the one asked for or that lets nobody in is ended instead. Null means that
 * none runs now, and that no lock file stands in the way of a new one.
 */
export async function adoptServer(folder: string, port: number): Promise<Adoption | null> {
  const cluster = clusterPath(folder)
  const postmaster = await settledPostmaster(cluster, RECOVERY_SECONDS_MAX)
  if (postmaster === null) {
    await disarmPostmasterFile(cluster)
    return null
  }
  const isWanted = port === 0 || port === postmaster.port
  if (postmaster.status === 'ready' && isWanted) {
    const connectionString = await tryToOpen(folder, postmaster.port)
    if (connectionString !== null) return { postmaster, connectionString }
  }
  await endServer(postmaster)
  return null
}

/** The running server of a cluster, once it is past its start; null when there is none. */
export async function settledPostmaster(
  cluster: string,
  secondsMax: number,
): Promise<Postmaster | null> {
  const isSettled = () => findPostmaster(cluster)?.status !== 'starting'
  await waitUntil(isSettled, { secondsMax, everyMilliseconds: 50 })
  return findPostmaster(cluster)
}

async function tryToOpen(folder: string, port: number): Promise<string | null> {
  try {
    return await openEmbeddedDatabase(folder, port)
  } catch (error) {
    // A wrong password is for a person to mend; a server that is merely unwell is replaced.
    if (error instanceof EmbeddedPostgresError) throw error
    return null
  }
}
