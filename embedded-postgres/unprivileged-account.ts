import { execFile, type SpawnOptions } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { EmbeddedPostgresError, OTHER_DATABASE_HINT } from './embedded-postgres-error.ts'

/**
 * The account that PostgreSQL runs under, because it refuses to run as root.
 * `self`: that of this process, which is not root. `uid`: another account of the machine.
 * `namespace`: root in a user namespace that maps it to the ordinary `uid`. Outside the namespace
 * it is root without capabilities, which may still read root's private folders.
 */
export type UnprivilegedAccount =
  | { kind: 'self' }
  | { kind: 'uid'; name: string; uid: number; gid: number }
  | { kind: 'namespace'; uid: number; gid: number }

interface AccountNeeds {
  /** A program that the account must be able to run. */
  program: string
  /** The real path of the data folder. The account must be able to traverse it. */
  folder: string
  /** The owner of an existing cluster, which is tried first, or null. */
  clusterOwner: number | null
}

/** Tries accounts until one works. Throws an EmbeddedPostgresError when none does. */
export async function chooseAccount(needs: AccountNeeds): Promise<UnprivilegedAccount> {
  if (process.geteuid?.() !== 0) return { kind: 'self' }
  for (const account of listCandidates(needs)) {
    if ((await findObstacle(account, needs)) === null) return account
  }
  throw await noUsableAccountError(needs)
}

/** The owner of the files that PostgreSQL writes under this account. */
export function accountFileOwner(account: UnprivilegedAccount): { uid: number; gid: number } {
  if (account.kind === 'uid') return { uid: account.uid, gid: account.gid }
  return { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 }
}

interface Command {
  file: string
  args: string[]
  options: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'>
}

/**
 * The command that runs a program under an account. It does not inherit the environment, which
 * contains secrets, and in which PGPORT or PGOPTIONS would change the server. Messages are parsed,
 * so the locale is `C`.
 */
export function commandAs(account: UnprivilegedAccount, file: string, args: string[]): Command {
  const options = { cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } }
  switch (account.kind) {
    case 'self':
      return { file, args, options }
    case 'uid':
      return { file, args, options: { ...options, uid: account.uid, gid: account.gid } }
    case 'namespace': {
      const maps = [`--map-user=${account.uid}`, `--map-group=${account.gid}`]
      return { file: 'unshare', args: ['--user', ...maps, file, ...args], options }
    }
  }
}

/** The cluster's owner, the folder's owner, `nobody`, then root in a user namespace. */
function listCandidates({ folder, clusterOwner }: AccountNeeds): UnprivilegedAccount[] {
  const known = listMachineAccounts()
  // PostgreSQL looks up the name of its account, so the namespace maps to an account with a name.
  const mapped = known.find(({ name }) => name === 'daemon') ?? known.find(({ uid }) => uid > 0)
  const namespace = mapped && { kind: 'namespace' as const, uid: mapped.uid, gid: mapped.gid }
  const folderOwner = statSync(folder).uid
  const ordinary = [
    ...known.filter(({ uid }) => uid === clusterOwner),
    ...known.filter(({ uid }) => uid === folderOwner),
    ...filterUnprivileged(known),
  ]
    .filter(({ uid }) => uid !== 0)
    .map(account => ({ kind: 'uid' as const, ...account }))
  if (!namespace) return ordinary
  return clusterOwner === 0 ? [namespace, ...ordinary] : [...ordinary, namespace]
}

/** Accounts that own nothing. */
function filterUnprivileged(known: MachineAccount[]): MachineAccount[] {
  const nobody = known.filter(({ name }) => name === 'nobody')
  return nobody.length > 0 ? nobody : known.filter(({ name }) => name === 'daemon')
}

type Obstacle = 'folder' | 'program'

const PROBE_MILLISECONDS_MAX = 20_000
const FOLDER_CLOSED_CODE = 77

/** Enters the folder and runs the program under the account. Null when both succeed. */
async function findObstacle(
  account: UnprivilegedAccount,
  { folder, program }: AccountNeeds,
): Promise<Obstacle | null> {
  const script = `cd "$1" || exit ${FOLDER_CLOSED_CODE}; exec "$2" --version`
  const { file, args, options } = commandAs(account, '/bin/sh', [
    '-c',
    script,
    'sh',
    folder,
    program,
  ])
  try {
    await promisify(execFile)(file, args, { ...options, timeout: PROBE_MILLISECONDS_MAX })
    return null
  } catch (error) {
    return (error as { code?: unknown }).code === FOLDER_CLOSED_CODE ? 'folder' : 'program'
  }
}

async function noUsableAccountError(needs: AccountNeeds): Promise<EmbeddedPostgresError> {
  const [unprivileged] = filterUnprivileged(listMachineAccounts())
  const obstacle = unprivileged && (await findObstacle({ kind: 'uid', ...unprivileged }, needs))
  const [closed, advice] =
    obstacle === 'program'
      ? [needs.program, 'install Signalbox outside private homes']
      : [needs.folder, 'set SIGNALBOX_DATA_DIR to a folder outside private homes']
  return new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and no other account of this machine can reach ' +
      `${closed}: ${advice} (like /var/lib/signalbox), start it as an ordinary user, ` +
      `or ${OTHER_DATABASE_HINT}`,
  )
}

/** An account of this machine, as a line of /etc/passwd names it. */
interface MachineAccount {
  name: string
  uid: number
  gid: number
}

/** The uid of `nobody` on macOS is -2, which Node cannot pass on. */
const UID_MAX = 2 ** 31 - 1

/** The accounts in /etc/passwd; those of a directory service are not needed. */
export function listMachineAccounts(): MachineAccount[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.flatMap(line => {
    const [name = '', , uid = '', gid = ''] = line.split(':')
    const isUsable = /^\d+$/.test(uid) && Number(uid) <= UID_MAX
    return isUsable ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

/** The name of an account for a sentence, with or without a line in /etc/passwd. */
export function findAccountName(uid: number): string {
  return listMachineAccounts().find(account => account.uid === uid)?.name ?? `account number ${uid}`
}
