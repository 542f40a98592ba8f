import { setTimeout as delay } from 'node:timers/promises'
import { adoptServer } from './embedded-adoption.ts'
import { embeddedBinaries } from './embedded-binaries.ts'
import { type ClusterPlace, clusterPath, ensureCluster } from './embedded-cluster.ts'
import { clusterOwnerOf } from './embedded-cluster-owner.ts'
import { openEmbeddedDatabase } from './embedded-database.ts'
import { embeddedLogPath } from './embedded-log.ts'
import { EmbeddedPostgresError, type ServerTrouble } from './embedded-postgres-error.ts'
import { launchServer } from './embedded-server.ts'
import { endServer, isRunning } from './embedded-stop.ts'
import { freePort } from './free-port.ts'
import type { Postmaster } from './postmaster-file.ts'
import { chooseAccount } from './unprivileged-account.ts'

/** A server that lets us in, and the promise of how it will end. */
export interface EmbeddedServing {
  postmaster: Postmaster
  connectionString: string
  adopted: boolean
  ended: Promise<string>
}

/** A child of a killed server may be busy with one statement, and those may take a minute. */
const TRIES_MAX = 120
const BETWEEN_TRIES_MILLISECONDS = 500

/**
 * Adopts the server of a data folder or starts one, and tries again while what stands in the way
 * may pass by itself: children of a killed server, or a free port that was just taken.
 */
export async function serveDataFolder(folder: string, port: number): Promise<EmbeddedServing> {
  for (let tries = 1; ; tries += 1) {
    const adopted = await adoptServer(folder, port)
    if (adopted) return { ...adopted, adopted: true, ended: endOfAdopted(adopted.postmaster) }
    const place = await placeOf(folder)
    const cluster = await ensureCluster(place)
    const launch = await launchServer(place, cluster, port === 0 ? await freePort() : port)
    if (launch.outcome === 'ready') {
      const connectionString = await open(folder, launch.postmaster)
      return { ...launch, connectionString, adopted: false }
    }
    if (tries === TRIES_MAX || !mayPass(launch, port)) throw launch.error
    await delay(BETWEEN_TRIES_MILLISECONDS)
  }
}

async function placeOf(folder: string): Promise<ClusterPlace> {
  const binaries = await embeddedBinaries()
  const clusterOwner = clusterOwnerOf(clusterPath(folder))
  const account = await chooseAccount({ program: binaries.postgres, folder, clusterOwner })
  return { binaries, account, folder }
}

function mayPass({ passing }: ServerTrouble, port: number): boolean {
  return passing === 'occupied' || (passing === 'port' && port === 0)
}

async function open(folder: string, postmaster: Postmaster): Promise<string> {
  try {
    return await openEmbeddedDatabase(folder, postmaster.port)
  } catch (cause) {
    await endServer(postmaster)
    if (cause instanceof EmbeddedPostgresError) throw cause
    throw new EmbeddedPostgresError(
      `PostgreSQL started but let nobody in: see ${embeddedLogPath(folder)}, then start again.`,
      { cause },
    )
  }
}

const LOOK_AFTER_MILLISECONDS = 1000

/** An adopted server is not our child: the system tells us nothing, so we look. */
async function endOfAdopted(postmaster: Postmaster): Promise<string> {
  while (isRunning(postmaster)) {
    await delay(LOOK_AFTER_MILLISECONDS, undefined, { ref: false })
  }
  return 'is gone'
}
