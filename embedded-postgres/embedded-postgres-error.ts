/** What a person must do before the embedded PostgreSQL can run, in one plain sentence. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}

/** An empty cluster takes 40 MB; the rest is room for its first write-ahead log. */
export const FREE_MEGABYTES_MIN = 200

/**
 * Says what to do about a system error (ENOSPC, EACCES, ...) met at `path`. Any other error is a
 * bug of ours and comes back as it is.
 */
export function toFolderError(error: unknown, path: string): unknown {
  if (error instanceof EmbeddedPostgresError) return error
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return error
  return new EmbeddedPostgresError(folderSentence(code, path), { cause: error })
}

function folderSentence(code: string, path: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFullSentence(path)
    case 'EACCES':
    case 'EPERM':
      return notPermittedSentence(path)
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

export function diskFullSentence(path: string): string {
  return (
    `The disk that holds ${path} is full: free at least ${FREE_MEGABYTES_MIN} MB, ` +
    'or set SIGNALBOX_DATA_DIR to a folder on another disk.'
  )
}

function notPermittedSentence(path: string): string {
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
  /** What may pass by itself within seconds: another server ending, a free port just taken. */
  transientCause: 'port' | 'occupied' | null
}

/** Says what to do about a start that failed, from what PostgreSQL wrote while it failed. */
export function diagnoseServerFailure(output: string, place: ServerLocation): ServerFailure {
  const [sentence, passing = null] = serverSentence(output, place)
  return { error: new EmbeddedPostgresError(sentence), transientCause: passing }
}

type Diagnosis = [sentence: string, passing?: 'port' | 'occupied']

function serverSentence(output: string, { folder, cluster, port }: ServerLocation): Diagnosis {
  if (/No space left on device|Disk quota exceeded/.test(output)) {
    return [diskFullSentence(cluster)]
  }
  if (/Address already in use/.test(output)) {
    return [`Port ${port} of 127.0.0.1 is taken by another program: ${OTHER_PORT_HINT}`, 'port']
  }
  if (/could not bind .*Permission denied/.test(output)) {
    return [`Port ${port} of 127.0.0.1 is not open to this account: ${OTHER_PORT_HINT}`]
  }
  if (/lock file .* already exists|pre-existing shared memory block/.test(output)) {
    return [`Another PostgreSQL is still using ${cluster}: end it, then start again.`, 'occupied']
  }
  if (/Cannot allocate memory|could not (create|map) .*shared memory/.test(output)) {
    return [
      `Memory is too short for PostgreSQL (it needs 200 MB): free some, or ${OTHER_DATABASE_HINT}`,
    ]
  }
  const uid = /could not look up effective user ID (\d+)/.exec(output)?.[1]
  if (uid) {
    return [
      `Account ${uid} has no line in /etc/passwd, which PostgreSQL needs: add one, ` +
        `or ${OTHER_DATABASE_HINT}`,
    ]
  }
  if (/Permission denied/.test(output)) return [notPermittedSentence(cluster)]
  const lastWords = findLastFatalLine(output) ?? 'without a word'
  return [
    `PostgreSQL did not start (${lastWords}): see postgres.log in ${folder}, or ${OTHER_DATABASE_HINT}`,
  ]
}

const OTHER_PORT_HINT =
  'free it, or set SIGNALBOX_DATABASE_PORT to another one (0 takes any free port).'

export const OTHER_DATABASE_HINT = 'set DATABASE_URL to a PostgreSQL 15 to 18 of your own.'

/** The last line in which PostgreSQL says why it gave up, or null. Lines about clients are not. */
export function findLastFatalLine(output: string): string | null {
  const complaints = output
    .split('\n')
    .filter(line => /\b(FATAL|PANIC|error): {1,2}/.test(line) && !ABOUT_CLIENTS.test(line))
  const last = complaints.at(-1)
  if (last === undefined) return null
  return last
    .replace(/^.*?\b(?=(FATAL|PANIC|error):)/, '')
    .replace(/\s+/g, ' ')
    .trim()
}

const ABOUT_CLIENTS =
  /authentication failed|terminating connection|the database system is|too many|not exist|slots/
