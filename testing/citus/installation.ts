import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The programs of a PostgreSQL with the Citus extension. */
export interface CitusInstallation {
  initdb: string
  postgres: string
  /** Of PostgreSQL. */
  majorVersion: number
}

/** Names the `pg_config` of the installation to use. Without it, the usual places are searched. */
export const CITUS_PG_CONFIG = 'SIGNALBOX_CITUS_PG_CONFIG'

/** Newest first. Citus 13 supports 15 to 17, and 14 also 18. */
const MAJOR_VERSIONS = [18, 17, 16, 15]

/**
 * The installed Citus, or the reason why there is none. Citus is under the AGPL and is not part of
 * this project; nothing here downloads or installs it.
 */
export function findCitusInstallation(
  environment: NodeJS.ProcessEnv = process.env,
): CitusInstallation | string {
  const chosen = environment[CITUS_PG_CONFIG]
  const debian = MAJOR_VERSIONS.map(version => `/usr/lib/postgresql/${version}/bin/pg_config`)
  const candidates = chosen ? [chosen] : ['pg_config', ...debian]
  for (const pgConfig of candidates) {
    const found = readInstallation(pgConfig)
    if (found) return found
  }
  const place = chosen ? `at ${chosen} (${CITUS_PG_CONFIG})` : 'on this machine'
  return (
    `no PostgreSQL ${MAJOR_VERSIONS.at(-1)} to ${MAJOR_VERSIONS[0]} with the Citus extension is ` +
    `installed ${place}; install one as https://github.com/citusdata/citus describes, or name ` +
    `its pg_config in ${CITUS_PG_CONFIG}`
  )
}

/** Null for a `pg_config` that is missing, and for clients or a server without Citus. */
function readInstallation(pgConfig: string): CitusInstallation | null {
  const output = runPgConfig(pgConfig)
  if (output === null) return null
  const [version = '', bin = '', share = ''] = output.split('\n')
  const majorVersion = Number(/^PostgreSQL (\d+)/.exec(version)?.[1])
  const [initdb, postgres] = [join(bin, 'initdb'), join(bin, 'postgres')]
  const files = [initdb, postgres, join(share, 'extension', 'citus.control')]
  const isUsable = MAJOR_VERSIONS.includes(majorVersion) && files.every(file => existsSync(file))
  return isUsable ? { initdb, postgres, majorVersion } : null
}

function runPgConfig(pgConfig: string): string | null {
  try {
    const options = ['--version', '--bindir', '--sharedir']
    return execFileSync(pgConfig, options, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return null
  }
}
