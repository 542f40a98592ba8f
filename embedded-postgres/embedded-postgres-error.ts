/** The embedded PostgreSQL cannot run. The message is one sentence with a fix. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}

/** An empty cluster takes 40 MB; the rest is for its first WAL. */
export const FREE_MEGABYTES_MIN = 200

/**
 * Turns a system error (ENOSPC, EACCES, ...) at `path` into one with a fix. Returns any other
 * error, which is a bug, as it is.
 */
export function toFolderError(error: unknown, path: string): unknown {
  if (error instanceof EmbeddedPostgresError) return error
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return error
  return new EmbeddedPostgresError(describeFolderError(code, path), { cause: error })
}

function describeFolderError(code: string, path: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return describeFullDisk(path)
    case 'EACCES':
    case 'EPERM':
      return describeDeniedPath(path)
    case 'EROFS':
      return `${path} is on a read-only file system: set SIGNALBOX_DATA_DIR to a writable folder.`
    case 'ENOTDIR':
    case 'EEXIST':
      return (
        `${path} cannot be a folder because part of it is a file: ` +
        'set SIGNALBOX_DATA_DIR to another path.'
      )
    default:
      return `${path} cannot be used (${code}): set SIGNALBOX_DATA_DIR to another folder.`
  }
}

export function describeFullDisk(path: string): string {
  return (
    `The disk that holds ${path} is full: free at least ${FREE_MEGABYTES_MIN} MB, ` +
    'or set SIGNALBOX_DATA_DIR to a folder on another disk.'
  )
}

function describeDeniedPath(path: string): string {
  return (
    `Signalbox may not read and write ${path}: start it under the account that owns the folder, ` +
    'or set SIGNALBOX_DATA_DIR to a folder that it may write.'
  )
}

/** Where a server or an initdb that failed was working. */
export interface ServerLocation {
  folder: string
  cluster: string
  port: number
}

export interface ServerFailure {
  error: EmbeddedPostgresError
  /** A cause that may pass within seconds: a server that is exiting, a free port just taken. */
  transientCause: 'port' | 'occupied' | null
}

/** Turns what a failed start of PostgreSQL printed into an error with a fix. */
export function diagnoseServerFailure(output: string, location: ServerLocation): ServerFailure {
  const [sentence, transientCause = null] = diagnose(output, location)
  return { error: new EmbeddedPostgresError(sentence), transientCause }
}

type Diagnosis = [sentence: string, transientCause?: 'port' | 'occupied']

function diagnose(output: string, { folder, cluster, port }: ServerLocation): Diagnosis {
  if (/No space left on device|Disk quota exceeded/.test(output)) {
    return [describeFullDisk(cluster)]
  }
  if (/Address already in use/.test(output)) {
    return [`Port ${port} of 127.0.0.1 is taken by another program: ${OTHER_PORT_HINT}`, 'port']
  }
  if (/could not bind .*Permission denied/.test(output)) {
    return [`Port ${port} of 127.0.0.1 may not be used by this account: ${OTHER_PORT_HINT}`]
  }
  if (/lock file .* already exists|pre-existing shared memory block/.test(output)) {
    return [`Another PostgreSQL is still using ${cluster}: stop it, then start again.`, 'occupied']
  }
  if (/Cannot allocate memory|could not (create|map) .*shared memory/.test(output)) {
    return [
      'There is not enough memory for PostgreSQL (it needs 200 MB): free some, ' +
        `or ${OTHER_DATABASE_HINT}`,
    ]
  }
  const uid = /could not look up effective user ID (\d+)/.exec(output)?.[1]
  if (uid) {
    return [
      `Account ${uid} has no line in /etc/passwd, which PostgreSQL needs: add one, ` +
        `or ${OTHER_DATABASE_HINT}`,
    ]
  }
  if (/Permission denied/.test(output)) return [describeDeniedPath(cluster)]
  const reason = findLastFatalLine(output) ?? 'no reason logged'
  return [
    `PostgreSQL did not start (${reason}): see postgres.log in ${folder}, ` +
      `or ${OTHER_DATABASE_HINT}`,
  ]
}

const OTHER_PORT_HINT =
  'free it, or set SIGNALBOX_DATABASE_PORT to another one (0 takes any free port).'

export const OTHER_DATABASE_HINT = 'set DATABASE_URL to a PostgreSQL 15 to 18 of your own.'

/** The last line with the reason for the exit, or null. Errors of clients are not one. */
export function findLastFatalLine(output: string): string | null {
  const lines = output
    .split('\n')
    .filter(line => /\b(FATAL|PANIC|error): {1,2}/.test(line) && !ABOUT_CLIENTS.test(line))
  const last = lines.at(-1)
  if (last === undefined) return null
  return last
    .replace(/^.*?\b(?=(FATAL|PANIC|error):)/, '')
    .replace(/\s+/g, ' ')
    .trim()
}

const ABOUT_CLIENTS =
  /authentication failed|terminating connection|the database system is|too many|not exist|slots/
